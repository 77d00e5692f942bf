//! Reads the distances between NUMA nodes in hwloc's XML. Since version 2, the distances are in
//! `distances2`, whose numbers are divided among several texts. In version 1, they are in
//! `distances`, relative to a base.

use roxmltree::Node;

use crate::cpu_sets::{NODES_MAX, RawNode};

/// Bit in the `kind` of a matrix, which means that its values are latencies
/// (HWLOC_DISTANCES_KIND_MEANS_LATENCY in hwloc).
const MEANS_LATENCY: u64 = 4;

/// Returns the numbers of the nodes, and a row of distances for each node. Returns `None` if the
/// file has no complete matrix of latencies.
pub(super) fn read(root: Node<'_, '_>, nodes: &[RawNode]) -> Option<(Vec<u32>, Vec<Vec<u32>>)> {
    let of_nodes = |element: &Node<'_, '_>| {
        let kind = element.attribute("kind").and_then(|kind| kind.parse::<u64>().ok());
        element.attribute("type") == Some("NUMANode")
            && kind.is_none_or(|kind| kind & MEANS_LATENCY != 0)
    };
    let mut matrices = root.children().filter(|child| child.has_tag_name("distances2"));
    if let Some(matrix) = matrices.find(of_nodes) {
        return since_2(root, matrix);
    }
    let old = root.descendants().find(|element| element.has_tag_name("distances"))?;
    before_2(old, nodes)
}

fn since_2(root: Node<'_, '_>, matrix: Node<'_, '_>) -> Option<(Vec<u32>, Vec<Vec<u32>>)> {
    let count: usize = matrix.attribute("nbobjs")?.parse().ok()?;
    if count == 0 || count > NODES_MAX {
        return None;
    }
    let pieces = |name: &'static str| {
        let elements = matrix.children().filter(move |child| child.has_tag_name(name));
        elements.flat_map(|element| element.text().unwrap_or_default().split_whitespace())
    };
    let mut numbers: Vec<u64> =
        pieces("indexes").map_while(|text| text.parse().ok()).take(count).collect();
    if matrix.attribute("indexing") == Some("gp") {
        let objects: Vec<Node<'_, '_>> = root
            .descendants()
            .filter(|element| element.attribute("type") == Some("NUMANode"))
            .collect();
        for number in &mut numbers {
            let gp = number.to_string();
            let object = objects.iter().find(|object| object.attribute("gp_index") == Some(&gp))?;
            *number = object.attribute("os_index")?.parse().ok()?;
        }
    }
    let values: Vec<u32> = pieces("u64values")
        .map_while(|text| text.parse::<u64>().ok())
        .map(|value| value.min(u64::from(u32::MAX)) as u32)
        .take(count * count)
        .collect();
    table(numbers, values)
}

fn before_2(old: Node<'_, '_>, nodes: &[RawNode]) -> Option<(Vec<u32>, Vec<Vec<u32>>)> {
    let base: f64 = old.attribute("latency_base")?.parse().ok()?;
    let cells = old.children().filter(|child| child.has_tag_name("latency"));
    let values: Option<Vec<u32>> = cells
        .take(NODES_MAX * NODES_MAX)
        .map(|cell| Some((cell.attribute("value")?.parse::<f64>().ok()? * base).round() as u32))
        .collect();
    // Rows are in logical order, which is the order of the nodes in the file.
    let mut numbers: Vec<u64> = nodes.iter().map(|node| u64::from(node.os)).collect();
    numbers.sort_unstable();
    table(numbers, values?)
}

fn table(numbers: Vec<u64>, values: Vec<u32>) -> Option<(Vec<u32>, Vec<Vec<u32>>)> {
    let is_square = !numbers.is_empty() && numbers.len() * numbers.len() == values.len();
    let rows = values.chunks(numbers.len().max(1)).map(<[u32]>::to_vec).collect();
    let numbers: Option<Vec<u32>> = numbers.iter().map(|&n| u32::try_from(n).ok()).collect();
    is_square.then_some((numbers?, rows))
}
