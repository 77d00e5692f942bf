//! Packs the program as a container image. The image is an OCI image layout in a tar archive, with
//! one layer and no base image. `skopeo copy oci-archive:FILE docker://REGISTRY/cassay:TAG` copies
//! the image to a registry.

use super::archive::{self, Contents, Packed};
use super::sha256;
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::io::Read;
use xtask::architecture::Architecture;

/// Working folder in the container, to which users mount the folder of their studies.
const FOLDER: &str = "/work";

/// Returns the name and the bytes of the image for version `number` of the program. The caller
/// gives the creation time both in seconds since 1970 and in RFC 3339.
///
/// # Errors
/// The image cannot be written.
pub fn build(
    contents: &Contents,
    number: &str,
    one: Architecture,
    (epoch_s, time): (u64, &str),
) -> Result<(String, Vec<u8>)> {
    let layer = archive::packed(contents, "usr", epoch_s)?;
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(&layer[..])
        .read_to_end(&mut plain)
        .context("unpack the layer")?;
    let config = json!({
        "created": time,
        "architecture": one.debian(),
        "os": "linux",
        "config": {
            "Entrypoint": ["/usr/bin/cassay"],
            "Env": ["PATH=/usr/bin:/bin", format!("HOME={FOLDER}"), format!("TMPDIR={FOLDER}")],
            "WorkingDir": FOLDER,
            "Labels": {
                "org.opencontainers.image.title": "cassay",
                "org.opencontainers.image.version": number,
                "org.opencontainers.image.licenses": "Apache-2.0",
            },
        },
        "rootfs": {"type": "layers", "diff_ids": [digest(&plain)]},
        "history": [{"created": time, "created_by": "cargo xtask dist"}],
    });
    let mut files = Contents::new();
    let config = blob(
        &mut files,
        "config.v1+json",
        config.to_string().into_bytes(),
    );
    let layer = blob(&mut files, "layer.v1.tar+gzip", layer);
    let kind = "application/vnd.oci.image.manifest.v1+json";
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": kind,
        "config": config,
        "layers": [layer],
    });
    let mut manifest = blob(
        &mut files,
        "manifest.v1+json",
        manifest.to_string().into_bytes(),
    );
    // containerd uses the second annotation as the name of the image, and does not accept a tag
    // alone.
    manifest["annotations"] = json!({
        "org.opencontainers.image.ref.name": number,
        "io.containerd.image.name": format!("localhost/cassay:{number}"),
    });
    let index = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [manifest],
    });
    files.insert("index.json".to_owned(), Packed::plain(index.to_string()));
    let layout = json!({"imageLayoutVersion": "1.0.0"});
    files.insert("oci-layout".to_owned(), Packed::plain(layout.to_string()));
    let name = format!("cassay-{number}-{}.oci.tar", one.name());
    Ok((name, archive::plain(&files, ".", epoch_s)?))
}

fn blob(files: &mut Contents, kind: &str, bytes: Vec<u8>) -> Value {
    let refers = json!({
        "mediaType": format!("application/vnd.oci.image.{kind}"),
        "digest": digest(&bytes),
        "size": bytes.len(),
    });
    files.insert(
        format!("blobs/sha256/{}", sha256(&bytes)),
        Packed::plain(bytes),
    );
    refers
}

fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", sha256(bytes))
}
