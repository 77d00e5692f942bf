//! Distinguishes DER structures by the tags of their first values, without decoding the values.
//!
//! Structures: RFC 5280 (certificate), 5958 (PKCS #8), 8017 (PKCS #1), 5915 (SEC 1), 7292 (PKCS
//! #12), 5652 (PKCS #7).

const INTEGER: u8 = 0x02;
const BITS: u8 = 0x03;
const OCTETS: u8 = 0x04;
const OBJECT: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
/// Context-specific tag 0, which contains the version of a certificate.
const CONTEXT_0: u8 = 0xA0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Der {
    Certificate,
    PrivateKey,
    EncryptedKey,
    PublicKey,
    Pkcs7,
    Pkcs12,
}

impl Der {
    /// Returns the structure of `bytes`, or `None` for an unknown structure.
    pub(super) fn parse(bytes: &[u8]) -> Option<Der> {
        let outer = values(values(bytes)?.first().filter(|first| first.0 == SEQUENCE)?.1)?;
        let tags: Vec<u8> = outer.iter().map(|value| value.0).collect();
        // A truncated file may contain values that are not DER.
        let inner = |at: usize| -> Vec<u8> {
            let values = outer.get(at).and_then(|value| values(value.1));
            values.unwrap_or_default().iter().map(|value| value.0).collect()
        };
        match (tags.as_slice(), outer.first()?.1) {
            ([INTEGER, SEQUENCE, OCTETS, ..], _)
            | ([INTEGER, INTEGER, ..], _)
            | ([INTEGER, OCTETS, ..], _) => Some(Der::PrivateKey),
            ([INTEGER, SEQUENCE, ..], [3]) if inner(1).first() == Some(&OBJECT) => {
                Some(Der::Pkcs12)
            }
            ([OBJECT, CONTEXT_0], _) => Some(Der::Pkcs7),
            ([SEQUENCE, OCTETS], _) if inner(0).first() == Some(&OBJECT) => Some(Der::EncryptedKey),
            ([SEQUENCE, BITS], _) if inner(0).first() == Some(&OBJECT) => Some(Der::PublicKey),
            ([SEQUENCE, SEQUENCE, BITS], _)
                if matches!(inner(0).as_slice(), [CONTEXT_0 | INTEGER, ..]) =>
            {
                Some(Der::Certificate)
            }
            _ => None,
        }
    }
}

/// Returns the tag and the content of each value. Returns `None` for invalid DER.
fn values(mut bytes: &[u8]) -> Option<Vec<(u8, &[u8])>> {
    let mut all = Vec::new();
    while let [tag, length, rest @ ..] = bytes {
        let (length, rest) = match length {
            0..=0x7F => (usize::from(*length), rest),
            0x81..=0x84 => {
                let (length, rest) = rest.split_at_checked(usize::from(length - 0x80))?;
                let number = length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
                (number, rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        all.push((*tag, content));
        bytes = rest;
    }
    bytes.is_empty().then_some(all)
}
