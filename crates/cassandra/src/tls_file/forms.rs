//! File formats that users provide as TLS files. Each format has a name, a test, and a way to get a
//! usable PEM file.

use super::Role;
use super::der::Der;
use base64::Engine;

/// Way in which the user gets a usable file from a file of a certain format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Shell command, in which `FILE` is the path.
    Command(&'static str),
    /// Sentence, for formats that no command can convert.
    Advice(&'static str),
}

use Way::{Advice, Command};

/// Format of TLS files, such as JKS, PKCS #12 or DER.
pub(super) struct Form {
    is: fn(&Content<'_>) -> bool,
    called: &'static str,
    /// How the user gets a certificate file.
    certificates: Way,
    /// How the user gets a private key file.
    key: Way,
}

impl Form {
    pub(super) fn recognize(bytes: &[u8]) -> &'static Form {
        let content = Content::inspect(bytes);
        FORMS.iter().find(|form| (form.is)(&content)).unwrap_or(&OTHER)
    }

    pub(super) fn called(&self) -> &'static str {
        self.called
    }

    pub(super) fn way(&self, role: Role) -> Way {
        match role {
            Role::Authorities | Role::Certificate => self.certificates,
            Role::PrivateKey => self.key,
        }
    }
}

/// Content of a file, in the representations that the tests in [`FORMS`] need.
struct Content<'a> {
    bytes: &'a [u8],
    text: String,
    der: Option<Der>,
}

impl<'a> Content<'a> {
    fn inspect(bytes: &'a [u8]) -> Content<'a> {
        Content {
            bytes,
            text: String::from_utf8_lossy(bytes).trim_start_matches('\u{FEFF}').trim().to_owned(),
            der: Der::parse(bytes),
        }
    }

    /// Returns true if the text contains a PEM block whose label ends with `label`.
    fn has(&self, label: &str) -> bool {
        let end = format!("{label}-----");
        let mut begins = self.text.split("-----BEGIN ").skip(1);
        begins.any(|block| {
            let line = block.lines().next().unwrap_or_default();
            line.split("\\n").next().unwrap_or_default().trim_end().ends_with(&end)
        })
    }

    /// Decodes a text that consists only of base64.
    fn decoded(&self) -> Option<Vec<u8>> {
        let joined: String = self.text.split_whitespace().collect();
        base64::engine::general_purpose::STANDARD.decode(joined).ok()
    }
}

const NO_CERTIFICATE: Way = Advice(
    "you cannot make a certificate from a key: specify the certificate file that the certificate \
     authority returned",
);
const NO_KEY: Way = Advice(
    "you cannot make a private key from this file: specify the key file that was created together \
     with the certificate request",
);
const FETCH_AGAIN: Way = Advice("copy the file again from its source, or export it again");
const ISSUE: Way = Advice(
    "specify the certificate that the authority returned for this request; the file begins with \
     `-----BEGIN CERTIFICATE-----`",
);

const FORMS: &[Form] = &[
    Form {
        is: |file| file.text.is_empty(),
        called: "an empty file",
        certificates: FETCH_AGAIN,
        key: FETCH_AGAIN,
    },
    Form {
        is: |file| file.bytes.starts_with(&[0xFE, 0xED, 0xFE, 0xED]),
        called: "a Java keystore (JKS)",
        certificates: Command("keytool -list -rfc -keystore FILE > certificates.pem"),
        key: Command(
            "keytool -importkeystore -srckeystore FILE -destkeystore store.p12 -deststoretype \
             PKCS12 && openssl pkcs12 -in store.p12 -nocerts -nodes -out key.pem",
        ),
    },
    Form {
        is: |file| file.bytes.starts_with(&[0xCE, 0xCE, 0xCE, 0xCE]),
        called: "a Java keystore (JCEKS)",
        certificates: Command(
            "keytool -list -rfc -storetype JCEKS -keystore FILE > certificates.pem",
        ),
        key: Command(
            "keytool -importkeystore -srckeystore FILE -srcstoretype JCEKS -destkeystore store.p12 \
             -deststoretype PKCS12 && openssl pkcs12 -in store.p12 -nocerts -nodes -out key.pem",
        ),
    },
    Form {
        is: |file| file.der == Some(Der::Pkcs12),
        called: "a keystore (PKCS #12, .p12 or .pfx; also Java's default format since Java 9)",
        certificates: Command("openssl pkcs12 -in FILE -nokeys -out certificates.pem"),
        key: Command("openssl pkcs12 -in FILE -nocerts -nodes -out key.pem"),
    },
    Form {
        is: |file| matches!(file.bytes, [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..]),
        called: "UTF-16 text, as Windows writes it",
        certificates: Command("iconv -f UTF-16 -t UTF-8 FILE > certificates.pem"),
        key: Command("iconv -f UTF-16 -t UTF-8 FILE > key.pem"),
    },
    Form {
        is: |file| file.text.starts_with("PuTTY-User-Key-File"),
        called: "a PuTTY key (.ppk), which is for ssh",
        certificates: NO_CERTIFICATE,
        key: Command(
            "puttygen FILE -O private-openssh -o key.pem && ssh-keygen -p -m PEM -N '' -f key.pem",
        ),
    },
    Form {
        is: |file| file.has("OPENSSH PRIVATE KEY"),
        called: "an OpenSSH private key",
        certificates: NO_CERTIFICATE,
        key: Command("cp FILE key.pem && ssh-keygen -p -m PEM -N '' -f key.pem"),
    },
    Form {
        is: |file| {
            let kinds = ["ssh-", "ecdsa-sha2-", "---- BEGIN SSH2 PUBLIC KEY"];
            kinds.iter().any(|kind| file.text.starts_with(kind))
        },
        called: "an ssh public key",
        certificates: NO_CERTIFICATE,
        key: NO_KEY,
    },
    Form {
        is: |file| {
            file.has("ENCRYPTED PRIVATE KEY") || file.text.contains("Proc-Type: 4,ENCRYPTED")
        },
        called: "an encrypted private key",
        certificates: NO_CERTIFICATE,
        key: Command("openssl pkey -in FILE -out key.pem"),
    },
    Form {
        is: |file| file.text.contains("-----BEGIN ") && file.text.contains("-----\\n"),
        called: "PEM with the characters \\n instead of line ends, as in JSON",
        certificates: Command("printf '%b' \"$(cat FILE)\" > certificates.pem"),
        key: Command("printf '%b' \"$(cat FILE)\" > key.pem"),
    },
    Form {
        is: |file| {
            let blocks = |word: &str| file.text.matches(word).count();
            blocks("-----BEGIN ") > blocks("-----END ")
        },
        called: "a truncated PEM file: a block has no line `-----END …`",
        certificates: FETCH_AGAIN,
        key: FETCH_AGAIN,
    },
    Form {
        is: |file| file.has("CERTIFICATE REQUEST"),
        called: "a certificate request (CSR)",
        certificates: ISSUE,
        key: NO_KEY,
    },
    Form {
        is: |file| file.has("DSA PRIVATE KEY"),
        called: "a DSA private key, which TLS no longer uses",
        certificates: NO_CERTIFICATE,
        key: Advice("specify a private key for RSA, ECDSA or Ed25519, and its certificate"),
    },
    Form {
        is: |file| file.has("PUBLIC KEY"),
        called: "a public key",
        certificates: NO_CERTIFICATE,
        key: NO_KEY,
    },
    Form {
        is: |file| file.has("PKCS7"),
        called: "certificates in PKCS #7 (.p7b)",
        certificates: Command("openssl pkcs7 -in FILE -print_certs -out certificates.pem"),
        key: NO_KEY,
    },
    Form {
        is: |file| file.has("X509 CRL"),
        called: "a certificate revocation list (CRL)",
        certificates: Advice("specify the certificate of the authority that signed the list"),
        key: NO_KEY,
    },
    Form {
        is: |file| file.has("TRUSTED CERTIFICATE"),
        called: "a certificate with OpenSSL's trust settings",
        certificates: Command("openssl x509 -in FILE -out certificates.pem"),
        key: NO_KEY,
    },
    Form {
        is: |file| file.has("CERTIFICATE") && file.has("PRIVATE KEY"),
        called: "PEM with a damaged block",
        certificates: FETCH_AGAIN,
        key: FETCH_AGAIN,
    },
    Form {
        is: |file| file.has("CERTIFICATE"),
        called: "a certificate",
        certificates: FETCH_AGAIN,
        key: NO_KEY,
    },
    Form {
        is: |file| file.has("PRIVATE KEY"),
        called: "a private key",
        certificates: NO_CERTIFICATE,
        key: FETCH_AGAIN,
    },
    Form {
        is: |file| file.der == Some(Der::Certificate),
        called: "a certificate in DER, not in PEM",
        certificates: Command("openssl x509 -inform DER -in FILE -out certificates.pem"),
        key: NO_KEY,
    },
    Form {
        is: |file| file.der == Some(Der::PrivateKey),
        called: "a private key in DER, not in PEM",
        certificates: NO_CERTIFICATE,
        key: Command("openssl pkey -inform DER -in FILE -out key.pem"),
    },
    Form {
        is: |file| file.der == Some(Der::EncryptedKey),
        called: "an encrypted private key in DER",
        certificates: NO_CERTIFICATE,
        key: Command("openssl pkcs8 -inform DER -in FILE -out key.pem"),
    },
    Form {
        is: |file| file.der == Some(Der::PublicKey),
        called: "a public key in DER",
        certificates: NO_CERTIFICATE,
        key: NO_KEY,
    },
    Form {
        is: |file| file.der == Some(Der::Pkcs7),
        called: "certificates in PKCS #7 (.p7b), in DER",
        certificates: Command(
            "openssl pkcs7 -inform DER -in FILE -print_certs -out certificates.pem",
        ),
        key: NO_KEY,
    },
    Form {
        is: |file| file.decoded().is_some_and(|bytes| bytes.starts_with(b"-----BEGIN ")),
        called: "PEM encoded in base64 again, as in a Kubernetes secret",
        certificates: Command("base64 -d FILE > certificates.pem"),
        key: Command("base64 -d FILE > key.pem"),
    },
    Form {
        is: |file| file.decoded().is_some_and(|bytes| Der::parse(&bytes) == Some(Der::Certificate)),
        called: "a certificate without its lines `-----BEGIN …` and `-----END …`",
        certificates: Command("base64 -d FILE | openssl x509 -inform DER -out certificates.pem"),
        key: NO_KEY,
    },
    Form {
        is: |file| file.decoded().is_some_and(|bytes| Der::parse(&bytes) == Some(Der::PrivateKey)),
        called: "a private key without its lines `-----BEGIN …` and `-----END …`",
        certificates: NO_CERTIFICATE,
        key: Command("base64 -d FILE | openssl pkey -inform DER -out key.pem"),
    },
    Form {
        is: |file| file.text.starts_with('<'),
        called: "an HTML or XML page, which a server may send instead of a file",
        certificates: FETCH_AGAIN,
        key: FETCH_AGAIN,
    },
];

/// Format of a file that matches no row of [`FORMS`].
static OTHER: Form = Form {
    is: |_| true,
    called: "a file of another kind",
    certificates: Advice(
        "a PEM file of certificates begins with `-----BEGIN CERTIFICATE-----`; openssl and keytool \
         write such files",
    ),
    key: Advice(
        "a PEM file of a private key begins with `-----BEGIN PRIVATE KEY-----`; openssl pkey \
         writes such files",
    ),
};

#[cfg(test)]
pub(super) fn all_called() -> impl Iterator<Item = &'static str> {
    FORMS.iter().chain([&OTHER]).map(Form::called)
}
