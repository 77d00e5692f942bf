//! Parses OS numbers in the synthetic notation. The forms are a list (`0,2,1,3`), loops
//! (`2*56:1*2`, each as step*count, with the innermost loop first) and names of levels
//! (`numa:core`).

use super::{Level, LevelKind, kind};
use crate::cpuset::CPU_NUMBERS_MAX;

pub(super) fn level_numbers(levels: &[Level], depth: usize) -> Result<Vec<u32>, String> {
    let level = &levels[depth];
    numbers(level.attributes.indexes.as_deref(), levels, level.width)
}

/// Returns the OS numbers of `total` objects according to `text`. Without a text, they are numbered
/// from 0.
pub(super) fn numbers(
    text: Option<&str>,
    levels: &[Level],
    total: usize,
) -> Result<Vec<u32>, String> {
    let Some(text) = text else {
        return Ok((0..total as u32).collect());
    };
    let is_list = text.chars().all(|c| c.is_ascii_digit() || c == ',');
    let numbers = if is_list {
        list(text)?
    } else {
        interleaved(&mut loops(text, levels, total)?, total).ok_or_else(|| {
            format!("the loops of indexes={text} do not result in {total} numbers")
        })?
    };
    if numbers.len() != total {
        let count = numbers.len();
        return Err(format!(
            "indexes={text} has {count} numbers for {total} objects"
        ));
    }
    let mut sorted = numbers.clone();
    sorted.sort_unstable();
    sorted.dedup();
    if sorted.len() == total {
        Ok(numbers)
    } else {
        Err(format!("indexes={text} contains a number twice"))
    }
}

fn list(text: &str) -> Result<Vec<u32>, String> {
    let numbers = text.split(',').map(|part| part.parse().ok());
    let below = numbers.map(|number| number.filter(|&n: &u32| n < CPU_NUMBERS_MAX));
    let all: Option<Vec<u32>> = below.collect();
    all.ok_or_else(|| format!("indexes={text} has a number that is not below {CPU_NUMBERS_MAX}"))
}

/// Returns the step and the count of each loop, with the innermost loop first.
fn loops(text: &str, levels: &[Level], total: usize) -> Result<Vec<(usize, usize)>, String> {
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        let parsed = text.split(':').map(|part| {
            let (step, count) = part.split_once('*')?;
            let (step, count) = (step.parse().ok()?, count.parse().ok()?);
            let in_bounds = |n: usize| (1..=CPU_NUMBERS_MAX as usize).contains(&n);
            (in_bounds(step) && in_bounds(count)).then_some((step, count))
        });
        let all: Option<Vec<(usize, usize)>> = parsed.collect();
        return all.ok_or_else(|| format!("indexes={text}: a loop has the form 2*56"));
    }
    let mut depths = Vec::new();
    for name in text.split(':') {
        let wanted = kind(name)?;
        let found = levels.iter().position(|level| match wanted {
            LevelKind::Other => level.kind == LevelKind::Other && level.name.starts_with(name),
            wanted => level.kind == wanted,
        });
        depths.push(found.ok_or_else(|| format!("indexes={text}: level {name} does not exist"))?);
    }
    let loops = depths.iter().map(|&depth| {
        let above = depths.iter().filter(|&&other| other < depth).max();
        let width_above = above.map_or(1, |&above| levels[above].width);
        (
            total / levels[depth].width.min(total),
            levels[depth].width / width_above,
        )
    });
    Ok(loops.collect())
}

/// Applies hwloc's formula. The number of object j is Σ ((j ÷ step) mod count) × (product of the
/// earlier counts). Returns `None` if the product of all counts is not `total`.
fn interleaved(loops: &mut Vec<(usize, usize)>, total: usize) -> Option<Vec<u32>> {
    let counted = loops.iter().try_fold(1usize, |product, &(_, count)| product.checked_mul(count));
    let counted = counted.filter(|&counted| counted > 0)?;
    if counted != total {
        // A description may omit the innermost loop.
        let smallest = loops.iter().map(|&(step, _)| step).min()?;
        if smallest * counted != total {
            return None;
        }
        loops.push((1, total / counted));
    }
    let number = |object: usize| {
        let mut factor = 1;
        let parts = loops.iter().map(|&(step, count)| {
            let part = object / step % count * factor;
            factor *= count;
            part
        });
        parts.sum::<usize>() as u32
    };
    Some((0..total).map(number).collect())
}
