//! Images for the pods of the tests, of this machine's own files: a busybox with the libraries that
//! our program of this machine needs.

use crate::{dist, process};
use anyhow::{Context, Result};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The image that holds a pod's namespaces.
pub const PAUSE: &str = "cassay.test/pause:1";

/// One with a shell.
pub const SHELL: &str = "cassay.test/shell:1";

/// Archives of images, made anew: a moment each.
pub fn images(folder: &Path) -> Result<Vec<PathBuf>> {
    let pause = folder.join(format!("bin-{}", super::build::VERSION)).join("pause");
    let mut layer = Layer::new();
    layer.file(&pause, "pause")?;
    let pause = layer.image(&folder.join("pause.tar"), PAUSE, json!(["/pause"]))?;
    let mut layer = Layer::new();
    layer.file(Path::new("/bin/busybox"), "bin/busybox")?;
    for applet in process::output("/bin/busybox", &["--list"])?.lines() {
        if applet != "busybox" {
            layer.link(&format!("bin/{applet}"), "/bin/busybox")?;
        }
    }
    layer.folder("tmp", 0o1777)?;
    // Developer commands need of the system what the program does.
    for library in libraries(&std::env::current_exe().context("find this program")?)? {
        layer.file(&library, library.to_string_lossy().trim_start_matches('/'))?;
    }
    let shell = layer.image(&folder.join("shell.tar"), SHELL, json!(["/bin/sh"]))?;
    Ok(vec![pause, shell])
}

/// The shared libraries of a program, with whoever loads them.
fn libraries(program: &Path) -> Result<BTreeSet<PathBuf>> {
    let said = process::output("ldd", &[&program.to_string_lossy()])?;
    let paths = said.split_whitespace().filter(|word| word.starts_with('/'));
    Ok(paths.map(PathBuf::from).collect())
}

/// The one layer of an image.
struct Layer(tar::Builder<Vec<u8>>);

impl Layer {
    fn new() -> Layer {
        Layer(tar::Builder::new(Vec::new()))
    }

    fn header(kind: tar::EntryType, bytes: u64, mode: u32) -> tar::Header {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(bytes);
        header.set_mode(mode);
        header.set_mtime(0);
        header
    }

    fn file(&mut self, from: &Path, to: &str) -> Result<()> {
        let bytes = std::fs::read(from).with_context(|| format!("read {}", from.display()))?;
        let mut header = Layer::header(tar::EntryType::Regular, bytes.len() as u64, 0o755);
        Ok(self.0.append_data(&mut header, to, &bytes[..])?)
    }

    fn link(&mut self, name: &str, to: &str) -> Result<()> {
        let mut header = Layer::header(tar::EntryType::Symlink, 0, 0o777);
        Ok(self.0.append_link(&mut header, name, to)?)
    }

    fn folder(&mut self, name: &str, mode: u32) -> Result<()> {
        let mut header = Layer::header(tar::EntryType::Directory, 0, mode);
        Ok(self.0.append_data(&mut header, name, std::io::empty())?)
    }

    /// Writes it as an image archive of Docker's form, which containerd reads.
    fn image(self, path: &Path, name: &str, entry: serde_json::Value) -> Result<PathBuf> {
        let layer = self.0.into_inner().context("end a layer")?;
        let config = json!({
            "architecture": "amd64",
            "os": "linux",
            "config": {"Entrypoint": entry, "Env": ["PATH=/bin:/usr/bin"]},
            "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{}", dist::sha256(&layer))]},
        });
        let manifest = json!([{
            "Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"],
        }]);
        let file = std::fs::File::create(path).with_context(|| format!("make {}", path.display()))?;
        let mut archive = tar::Builder::new(file);
        for (name, bytes) in [
            ("config.json", config.to_string().into_bytes()),
            ("layer.tar", layer),
            ("manifest.json", manifest.to_string().into_bytes()),
        ] {
            let mut header = Layer::header(tar::EntryType::Regular, bytes.len() as u64, 0o644);
            archive.append_data(&mut header, name, &bytes[..])?;
        }
        archive.finish()?;
        Ok(path.to_owned())
    }
}
