//! In which order the trials of a study run.

use crate::settings::Study;

/// One trial before it is spelled out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Number of the variant.
    pub variant: usize,
    /// Number of the point.
    pub rung: usize,
    /// Number of the block.
    pub block: usize,
}

/// Sequential: variant by variant. Interleaved: in each block every variant has its turn, so that
/// drift of the machine falls on all of them. Variants with the same target take turns at every
/// point; others keep their target for all their points, since a start costs more than a trial.
pub fn order(study: &Study) -> Vec<Cell> {
    let points = |variant: usize| study.variants[variant].settings.procedure.points.len();
    let blocks = study.repeat.blocks;
    let mut cells = Vec::new();
    if !study.repeat.interleaved {
        for variant in 0..study.variants.len() {
            for block in 0..blocks {
                let rungs = 0..points(variant);
                cells.extend(rungs.map(|rung| Cell {
                    variant,
                    rung,
                    block,
                }));
            }
        }
        return cells;
    }
    let mut chance = Chance(study.seed);
    for block in 0..blocks {
        let mut groups = groups_by_target(study);
        chance.shuffle(&mut groups);
        for mut group in groups {
            let rungs_max = group
                .iter()
                .map(|&variant| points(variant))
                .max()
                .unwrap_or(0);
            for rung in 0..rungs_max {
                chance.shuffle(&mut group);
                let turn = group.iter().filter(|&&variant| rung < points(variant));
                cells.extend(turn.map(|&variant| Cell {
                    variant,
                    rung,
                    block,
                }));
            }
        }
    }
    cells
}

fn groups_by_target(study: &Study) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (index, variant) in study.variants.iter().enumerate() {
        let target = &variant.settings.target;
        let same = |group: &&mut Vec<usize>| study.variants[group[0]].settings.target == *target;
        match groups.iter_mut().find(same) {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    groups
}

/// SplitMix64: small, seeded, the same on every machine; only shuffles.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Fisher and Yates. The modulo's bias is below 2^-50 for any number of variants.
    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = (self.next() % (last as u64 + 1)) as usize;
            items.swap(last, other);
        }
    }
}
