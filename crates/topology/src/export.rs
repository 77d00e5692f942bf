//! Writes plans in the formats of the tools that apply them, and reads them back.
//!
//! Reading order: [`FORMATS`] is a table with one row per format. [`export`] writes the files of a
//! row. `Format::read` reads a [`Placement`] from such a file. This placement equals
//! [`Placement::planned`] in everything that the format can express. Names are data, so the name of
//! a host or rack remains inside its quotes, regardless of its characters.

mod cells;
mod configspec;
mod environment;
mod escapes;
mod kubelet;
mod kubernetes;
mod libvirt;
mod numactl;
mod placement;
mod properties;
mod shell;
mod systemd;
mod vmx;

pub use kubelet::{Difference, differences, kubelet_order};
pub use placement::{CpuNaming, FormatSupport, Guest, GuestSupport, Placement, ReservedCpus};

use crate::error::ReadError;
use crate::machine::Machine;
use crate::plan::{Instance, Plan};

/// A format for plans.
pub struct Format {
    /// Name on the command line.
    pub name: &'static str,
    /// Description of the format for users.
    pub what: &'static str,
    /// File extension, without the dot.
    pub extension: &'static str,
    /// Object for which a file is written (each instance, or the host), and the function that
    /// writes the file.
    pub scope: Scope,
    /// Properties of a placement that the format can express.
    pub carries: FormatSupport,
    /// Reads the placement from a file of this format.
    pub read: fn(&str) -> Result<Placement, ReadError>,
}

impl Format {
    /// Reads the placement from the bytes of a file of this format. The text is UTF-8. Only a .vmx
    /// file may name another character set. Its characters other than ASCII are then unknown.
    pub fn read_bytes(&self, bytes: Vec<u8>) -> Result<Placement, ReadError> {
        let text = if self.name == "vmx" && vmx::has_other_encoding(&bytes) {
            String::from_utf8_lossy(&bytes).into_owned()
        } else {
            foreign::utf8(bytes)
                .map_err(|error| ReadError::new(self.name, error.to_string(), "save it again"))?
        };
        (self.read)(text.trim_start_matches('\u{feff}'))
    }
}

/// Files of an export. Each variant contains the function that writes a file.
pub enum Scope {
    /// One file per instance.
    Instance(fn(&Source, &Instance) -> Result<String, ExportError>),
    /// One file for the host.
    Host(fn(&Source) -> Result<String, ExportError>),
}

/// Input of an export.
pub struct Source<'a> {
    /// Machine of the plan.
    pub machine: &'a Machine,
    pub plan: &'a Plan,
    /// Settings that the plan does not contain.
    pub options: &'a Options,
}

/// Settings that the plan does not contain and that some formats require.
#[derive(Clone, Debug)]
pub struct Options {
    /// True if guests on AMD get the CPU feature `topoext`. Without this feature, guests do not see
    /// the threads of their cores.
    pub topoext: bool,
    /// Memory of each NUMA node that Kubernetes reserves for the system, in bytes.
    pub reserved_memory_bytes: u64,
    /// Container image of a pod.
    pub image: String,
}

impl Default for Options {
    /// Returns settings without topoext, with a reserve of 1 GiB per node, and with the image
    /// `cassandra`.
    fn default() -> Options {
        Options {
            topoext: false,
            reserved_memory_bytes: 1 << 30,
            image: "cassandra".to_owned(),
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExportFile {
    /// File name, which consists of the host, the number of the instance and the extension. The
    /// name contains only letters, digits, `.`, `_` and `-`.
    pub file: String,
    /// Number of the instance to which the file applies. `None` if the file applies to the host.
    pub instance: Option<u32>,
    /// Content of the file.
    pub text: String,
}

/// The error for a plan that a format cannot express.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{what}\nhint: {hint}")]
pub struct ExportError {
    /// Properties that the plan lacks, or that the format cannot express.
    pub what: String,
    /// Advice on the next step.
    pub hint: String,
}

impl ExportError {
    pub(crate) fn new(what: impl Into<String>, hint: impl Into<String>) -> ExportError {
        let (what, hint) = (what.into(), hint.into());
        ExportError { what, hint }
    }
}

pub static FORMATS: [Format; 10] = [
    Format {
        name: "libvirt",
        what: "domain XML: pinning, memory and guest topology of a VM under libvirt and QEMU",
        extension: "xml",
        scope: Scope::Instance(libvirt::write),
        carries: FormatSupport {
            cpus: CpuNaming::Ordered,
            memory_nodes: true,
            guest: GuestSupport::Pinned,
            memory_unit_bytes: Some(libvirt::MEMORY_UNIT_BYTES),
            ..FormatSupport::RACK_AND_JVM
        },
        read: libvirt::read,
    },
    Format {
        name: "vmx",
        what: "options of a VM in its .vmx file under ESXi",
        extension: "vmx",
        scope: Scope::Instance(vmx::write),
        carries: VSPHERE,
        read: vmx::read,
    },
    Format {
        name: "configspec",
        what: "ConfigSpec of the vSphere API, as JSON",
        extension: "json",
        scope: Scope::Instance(configspec::write),
        carries: VSPHERE,
        read: configspec::read,
    },
    Format {
        name: "systemd",
        what: "drop-in of a service: CPUs, memory nodes, JVM options, limits",
        extension: "conf",
        scope: Scope::Instance(systemd::write),
        carries: PROCESS,
        read: systemd::read,
    },
    Format {
        name: "systemd-slice",
        what: "drop-in of system.slice, user.slice and init.scope: the CPUs that instances do not \
               use",
        extension: "conf",
        scope: Scope::Host(systemd::write_slice),
        carries: FormatSupport {
            reserved: ReservedCpus::NotGiven,
            ..FormatSupport::NOTHING
        },
        read: systemd::read_slice,
    },
    Format {
        name: "kubelet",
        what: "KubeletConfiguration: managers of CPUs, memory and topology, reserved CPUs",
        extension: "yaml",
        scope: Scope::Host(kubernetes::write_kubelet),
        carries: FormatSupport {
            reserved: ReservedCpus::Housekeeping,
            ..FormatSupport::NOTHING
        },
        read: kubernetes::read_kubelet,
    },
    Format {
        name: "pod",
        what: "Guaranteed pod of an instance; the kubelet chooses its CPUs",
        extension: "yaml",
        scope: Scope::Instance(kubernetes::write_pod),
        carries: FormatSupport {
            cpus: CpuNaming::Ordered,
            memory_nodes: true,
            memory_unit_bytes: Some(1),
            ..FormatSupport::RACK_AND_JVM
        },
        read: kubernetes::read_pod,
    },
    Format {
        name: "numactl",
        what: "shell script that starts an instance under numactl, or taskset",
        extension: "sh",
        scope: Scope::Instance(numactl::write),
        carries: PROCESS,
        read: numactl::read,
    },
    Format {
        name: "cassandra-env",
        what: "lines for the end of cassandra-env.sh: the JVM options of an instance",
        extension: "env.sh",
        scope: Scope::Instance(numactl::write_env),
        carries: FormatSupport {
            jvm: true,
            ..FormatSupport::NOTHING
        },
        read: numactl::read_env,
    },
    Format {
        name: "rackdc",
        what: "the rack line of cassandra-rackdc.properties",
        extension: "properties",
        scope: Scope::Host(properties::write),
        carries: FormatSupport {
            rack: true,
            ..FormatSupport::NOTHING
        },
        read: properties::read,
    },
];

const VSPHERE: FormatSupport = FormatSupport {
    memory_nodes: true,
    guest: GuestSupport::Vsphere,
    memory_unit_bytes: Some(vmx::MEMORY_UNIT_BYTES),
    ..FormatSupport::RACK_AND_JVM
};

const PROCESS: FormatSupport = FormatSupport {
    cpus: CpuNaming::Set,
    memory_nodes: true,
    ..FormatSupport::RACK_AND_JVM
};

/// Returns the format with this name. Returns `None` if the name is unknown.
pub fn format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// Exports the plan in this format. The same plan always yields the same bytes.
pub fn export(source: &Source, format: &Format) -> Result<Vec<ExportFile>, ExportError> {
    let host = escapes::file_name(&source.plan.wish.host);
    let (name, extension) = (format.name, format.extension);
    match format.scope {
        Scope::Host(write) => Ok(vec![ExportFile {
            file: format!("{host}.{name}.{extension}"),
            instance: None,
            text: write(source)?,
        }]),
        Scope::Instance(write) => {
            let file = |instance: &Instance| {
                Ok(ExportFile {
                    file: format!("{host}-{}.{name}.{extension}", instance.index),
                    instance: Some(instance.index),
                    text: write(source, instance)?,
                })
            };
            source.plan.instances.iter().map(file).collect()
        }
    }
}

/// Returns the first line of a file, for formats that permit comments.
fn header(source: &Source, instance: Option<&Instance>) -> String {
    let host = escapes::plain(&source.plan.wish.host);
    let fingerprint = escapes::plain(&source.plan.fingerprint);
    let of = match instance {
        Some(instance) => format!("instance {} on {host}", instance.index),
        None => host,
    };
    format!("Generated by cassay for {of}; applies to the machine with fingerprint {fingerprint}.")
}
