//! Builds the images for the test pods from files of this machine. One image contains busybox and
//! the libraries that cassay requires. Another image also contains this machine's Java.

use crate::dist;
use anyhow::{Context, Result, bail};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use xtask::process;

/// Name of the image that keeps a pod's namespaces open.
pub const PAUSE: &str = "cassay.test/pause:1";

pub const SHELL: &str = "cassay.test/shell:1";

/// Name of the image with a shell and Java.
pub const JAVA: &str = "cassay.test/java:1";

/// Builds the archives of the images. The archives are built each time, because this takes only a
/// short time.
pub fn images(folder: &Path) -> Result<Vec<PathBuf>> {
    let pause = folder.join(format!("bin-{}", super::build::VERSION)).join("pause");
    let mut layer = Layer::new();
    layer.file(&pause, "pause")?;
    let pause = layer.image(&folder.join("pause.tar"), PAUSE, json!(["/pause"]))?;
    // This is the program that was built with the tests. A separate build would have other
    // features.
    let program = xtask::target().join("debug/cassay");
    let mut shell = Layer::with_shell(&program)?;
    shell.folder("tmp", 0o1777)?;
    let shell = shell.image(&folder.join("shell.tar"), SHELL, json!(["/bin/sh"]))?;
    let mut java = Layer::with_shell(&program)?;
    java.folder("tmp", 0o1777)?;
    java.java()?;
    let java = java.image(&folder.join("java.tar"), JAVA, json!(["/bin/sh"]))?;
    Ok(vec![pause, shell, java])
}

fn java_home() -> Result<PathBuf> {
    let said = process::stderr("java", &["-XshowSettings:properties", "-version"], &[])?;
    let home = said.lines().find_map(|line| line.trim().strip_prefix("java.home = "));
    Ok(PathBuf::from(
        home.context("java does not report its home folder")?,
    ))
}

fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for entry in
        std::fs::read_dir(folder).with_context(|| format!("look into {}", folder.display()))?
    {
        let path = entry?.path();
        if path.is_dir() {
            all.extend(files_below(&path)?);
        } else {
            all.push(path);
        }
    }
    Ok(all)
}

/// Returns the shared libraries of a program, and its loader.
fn libraries(program: &Path) -> Result<BTreeSet<PathBuf>> {
    let said = process::output("ldd", &[&program.to_string_lossy()])?;
    let paths = said.split_whitespace().filter(|word| word.starts_with('/'));
    Ok(paths.map(PathBuf::from).collect())
}

/// Returns the path of a file within an image.
fn within(path: &Path) -> &str {
    path.to_str().unwrap_or_default().trim_start_matches('/')
}

/// The only layer of an image.
struct Layer(tar::Builder<Vec<u8>>);

impl Layer {
    fn new() -> Layer {
        Layer(tar::Builder::new(Vec::new()))
    }

    /// Returns a layer with busybox, and with the system libraries that cassay requires.
    fn with_shell(program: &Path) -> Result<Layer> {
        let mut layer = Layer::new();
        layer.file(Path::new("/bin/busybox"), "bin/busybox")?;
        for applet in process::output("/bin/busybox", &["--list"])?.lines() {
            if applet != "busybox" {
                layer.link(&format!("bin/{applet}"), "/bin/busybox")?;
            }
        }
        for library in libraries(program)? {
            layer.file(&library, within(&library))?;
        }
        Ok(layer)
    }

    /// Adds this machine's Java, except files that only compilers need.
    fn java(&mut self) -> Result<()> {
        let home = java_home()?;
        let mut needed = BTreeSet::new();
        for part in ["bin/java", "lib", "conf", "release"] {
            let part = home.join(part);
            let files = if part.is_dir() {
                files_below(&part)?
            } else {
                vec![part]
            };
            for file in files {
                let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
                if ["src.zip", "ct.sym"].contains(&name.as_str()) || !file.exists() {
                    continue;
                }
                if name == "java" || name.contains(".so") {
                    needed.extend(libraries(&file)?);
                }
                let to = Path::new("usr/lib/jvm/java").join(file.strip_prefix(&home)?);
                self.file(&file, &to.to_string_lossy())?;
            }
        }
        let is_own = |library: &PathBuf| library.starts_with(&home);
        let are_there: BTreeSet<PathBuf> = libraries(&xtask::target().join("debug/cassay"))?;
        for library in needed.iter().filter(|one| !is_own(one) && !are_there.contains(*one)) {
            self.file(library, within(library))?;
        }
        if needed.is_empty() {
            bail!("this machine's Java at {} has no libraries", home.display());
        }
        self.link("usr/bin/java", "/usr/lib/jvm/java/bin/java")
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

    /// Writes the layer as an image archive in Docker's format, which containerd reads.
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
        let file =
            std::fs::File::create(path).with_context(|| format!("make {}", path.display()))?;
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
