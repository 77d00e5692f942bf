//! Builds the arguments with which QEMU emulates a shape. All functions are pure.

use super::shape::Shape;
use std::path::Path;

/// Serial lines of a guest. QEMU writes each line to a file on this machine. The first file
/// contains the output of the kernel and the stderr of programs. The second file contains the
/// output of the steps. The third file contains the files that the guest has packed.
pub const LINES: [&str; 3] = ["console.log", "steps.txt", "files.tar.gz"];

/// Returns the arguments for a guest of this shape. The files of the guest are in `folder`.
pub fn arguments(shape: &Shape, kernel: &Path, folder: &Path) -> Vec<String> {
    let mut words = vec!["-nodefaults -no-user-config -display none -no-reboot".to_owned()];
    // With this option, one thread of the host runs all emulated CPUs in turn. On a host with 2
    // cores, this takes two thirds of the time that one thread per CPU takes.
    words.push("-accel tcg,thread=single".to_owned());
    let hmat = if shape.has_side_caches() {
        ",hmat=on"
    } else {
        ""
    };
    words.push(format!("-machine q35{hmat}"));
    words.push(format!("-cpu {CPU}"));
    words.push(format!("-m {}M", shape.memory_mib()));
    words.push(format!(
        "-smp {},maxcpus={},sockets={},dies={},cores={},threads={}",
        shape.cores_present() * shape.threads,
        shape.cores_possible() * shape.threads,
        shape.sockets,
        shape.dies,
        shape.cores,
        shape.threads
    ));
    if shape.nodes.len() > 1 {
        words.extend(nodes(shape));
        words.extend(distances(shape));
    }
    if shape.has_side_caches() {
        words.extend(attributes(shape));
    }
    let split = |words: &String| words.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let mut words: Vec<String> = words.iter().flat_map(split).collect();
    for line in LINES {
        let path = folder.join(line).display().to_string();
        words.extend([
            "-serial".to_owned(),
            format!("file:{}", path.replace(',', ",,")),
        ]);
    }
    let initrd = folder.join("initrd.cpio").display().to_string();
    words.extend(["-initrd".to_owned(), initrd]);
    words.extend(["-kernel".to_owned(), kernel.display().to_string()]);
    // After a panic, the kernel reboots immediately (`panic=-1`), and `-no-reboot` makes QEMU exit
    // instead.
    words.extend([
        "-append".to_owned(),
        "console=ttyS0 panic=-1 loglevel=5".to_owned(),
    ]);
    words
}

/// An Intel CPU with all features that QEMU can emulate. For AMD CPUs, QEMU does not emulate
/// threads, and the L3 caches that Linux sees differ from QEMU's configuration.
const CPU: &str = "max,vendor=GenuineIntel,family=6,model=106,stepping=6";

fn nodes(shape: &Shape) -> Vec<String> {
    let mut words = Vec::new();
    for (id, node) in shape.nodes.iter().enumerate() {
        let mut word = format!("-numa node,nodeid={id}");
        if node.memory_mib > 0 {
            let size = node.memory_mib;
            words.push(format!(
                "-object memory-backend-ram,id=memory{id},size={size}M"
            ));
            word += &format!(",memdev=memory{id}");
        }
        if shape.has_side_caches() {
            word += &format!(",initiator={id}");
        }
        words.push(word);
    }
    for (id, node) in shape.nodes.iter().enumerate() {
        for core in node.cores {
            let (die, core) = (core / shape.cores, core % shape.cores);
            let (socket, die) = (die / shape.dies, die % shape.dies);
            // QEMU refuses the number of a die if there is only one die.
            let die = match shape.dies {
                1 => String::new(),
                _ => format!(",die-id={die}"),
            };
            words.push(format!(
                "-numa cpu,node-id={id},socket-id={socket}{die},core-id={core}"
            ));
        }
    }
    words
}

fn distances(shape: &Shape) -> Vec<String> {
    let mut words = Vec::new();
    for (from, row) in shape.distances.iter().enumerate() {
        for (to, distance) in row.iter().enumerate().filter(|&(to, _)| to != from) {
            words.push(format!("-numa dist,src={from},dst={to},val={distance}"));
        }
    }
    words
}

/// Returns the latency and the bandwidth between all nodes. QEMU requires these attributes if the
/// machine has a memory-side cache.
fn attributes(shape: &Shape) -> Vec<String> {
    let mut words = Vec::new();
    for (from, row) in shape.distances.iter().enumerate() {
        for (to, distance) in row.iter().enumerate() {
            let between = format!("-numa hmat-lb,initiator={from},target={to},hierarchy=memory");
            words.push(format!(
                "{between},data-type=access-latency,latency={distance}"
            ));
            let bandwidth = 3200 / distance;
            words.push(format!(
                "{between},data-type=access-bandwidth,bandwidth={bandwidth}M"
            ));
        }
    }
    for (id, node) in shape.nodes.iter().enumerate() {
        let size = node.side_cache_mib;
        words.push(format!(
            "-numa hmat-cache,node-id={id},size={size}M,level=1,associativity=direct,\
             policy=write-back,line=64"
        ));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::super::shape::SHAPES;
    use super::*;

    fn line(name: &str) -> String {
        let shape = SHAPES.iter().find(|shape| shape.name == name).unwrap();
        arguments(shape, Path::new("/vmlinuz"), Path::new("/made, here")).join(" ")
    }

    #[test]
    fn qemu_is_told_each_part_of_a_shape() {
        for (shape, parts) in [
            (
                "flat",
                &[
                    "-m 512M",
                    "-smp 4,maxcpus=4,sockets=1,dies=1,cores=4,threads=1",
                ][..],
            ),
            (
                "dies",
                &[
                    "-smp 16,maxcpus=16,sockets=2,dies=2,cores=2,threads=2",
                    "-numa node,nodeid=3,memdev=memory3",
                    "-numa cpu,node-id=0,socket-id=0,die-id=0,core-id=1",
                    "-numa cpu,node-id=3,socket-id=1,die-id=1,core-id=0",
                    "-numa dist,src=3,dst=2,val=16",
                ],
            ),
            (
                "gaps",
                &[
                    "-smp 12,maxcpus=16",
                    "-numa node,nodeid=1 -numa node,nodeid=2 -object",
                    "-numa cpu,node-id=2,socket-id=1,core-id=1",
                    "-numa dist,src=1,dst=0,val=22",
                ],
            ),
            (
                "eight",
                &[
                    "-machine q35,hmat=on",
                    "-numa node,nodeid=7,memdev=memory7,initiator=7",
                    "initiator=7,target=0,hierarchy=memory,data-type=access-latency,latency=32",
                    "-numa hmat-cache,node-id=7,size=32M",
                ],
            ),
        ] {
            let line = line(shape);
            for part in parts {
                assert!(line.contains(part), "{shape}: {part} is not in {line}");
            }
        }
        assert!(!line("flat").contains("-numa"));
        assert!(line("flat").contains("file:/made,, here/steps.txt"));
    }
}
