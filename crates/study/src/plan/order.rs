//! Decides the order in which the trials of a study run.

use crate::index::{BlockIndex, VariantIndex};
use crate::settings::{ImportedCommands, Study, Variant};
use analysis::procedure::ProcedureEstimate;
use workload::random::Draws;

/// A trial before its phases are planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Index of the variant in the study.
    pub variant: VariantIndex,
    /// Index of the point on the load axis.
    pub rung: usize,
    pub block: BlockIndex,
}

impl Study {
    /// Returns the indexes of the study's variants, in order.
    pub fn variant_indexes(&self) -> impl Iterator<Item = VariantIndex> + use<> {
        (0..self.variants.len()).map(VariantIndex)
    }

    /// Returns a variant. `index` must be the index of a variant of this study.
    pub fn variant(&self, index: VariantIndex) -> &Variant {
        &self.variants[index.0]
    }
}

/// Returns the order of trials. In a sequential order, all trials of one variant run before the
/// next variant. In an interleaved order, every variant runs in each block, so that drift of the
/// machine affects all variants. Variants with the same target take turns at every point. Variants
/// with different targets keep their target for all their points, because a start takes longer than
/// a trial. The runs of a screening are an exception. If several runs with the same target followed
/// each other, drift of the machine would look like an effect of the target's settings.
///
/// Turns are counterbalanced (see [`balanced`]). A random order is too often like `ab ab ba ab ab`.
/// An effect of the position in a block would then look like a difference between variants. The
/// points of several blocks are also counterbalanced, unless the procedure chooses each point by
/// the results at the previous point.
///
/// Steps of another tool's commands run in the order of those commands in each block, with any
/// seed. Each step may need the data of the previous step. If a study has several such sequences of
/// steps, whole sequences take turns.
///
/// Blocks that were added to a run come last, in a separate order. The planned order of earlier
/// blocks does not change.
pub fn order(study: &Study, outlooks: &[ProcedureEstimate]) -> Vec<Cell> {
    let mut cells = order_blocks(study, outlooks, study.seed, study.repeat.blocks);
    let mut before = study.repeat.blocks;
    for (seed, &blocks) in (study.seed.wrapping_add(1)..).zip(&study.added) {
        let added = order_blocks(study, outlooks, seed, blocks).into_iter();
        cells.extend(added.map(|cell| Cell {
            block: BlockIndex(before + cell.block.0),
            ..cell
        }));
        before += blocks;
    }
    cells
}

fn order_blocks(
    study: &Study,
    outlooks: &[ProcedureEstimate],
    seed: u64,
    blocks: usize,
) -> Vec<Cell> {
    if !study.repeat.interleaved {
        let chains = chains(study);
        let in_blocks = chains
            .iter()
            .flat_map(|chain| (0..blocks).map(move |block| (chain, BlockIndex(block))));
        return in_blocks
            .flat_map(|(chain, block)| {
                let variants = chain.0.iter().flatten().copied();
                variants.flat_map(move |variant| rising(variant, block, outlooks))
            })
            .collect();
    }
    let mut chance = Chance(Draws::sequence(seed));
    let turns: Vec<Turns> = groups_by_target(study)
        .iter()
        .map(|group| Turns::arrange(blocks, outlooks, group, &mut chance))
        .collect();
    let groups_in_order = balanced(turns.len(), blocks, &mut chance);
    let in_blocks = groups_in_order.iter().enumerate();
    in_blocks
        .flat_map(|(block, groups)| groups.iter().map(move |&group| (block, group)))
        .flat_map(|(block, group)| turns[group].cells(BlockIndex(block), outlooks))
        .collect()
}

/// Returns all points of a variant in a block, in ascending order.
fn rising(
    variant: VariantIndex,
    block: BlockIndex,
    outlooks: &[ProcedureEstimate],
) -> impl Iterator<Item = Cell> {
    (0..outlooks[variant.0].turns_max).map(move |rung| Cell {
        variant,
        rung,
        block,
    })
}

/// Returns the points of each variant that are known before the first measurement.
pub fn outlooks(study: &Study) -> Vec<ProcedureEstimate> {
    let variants = study.variants.iter();
    variants.map(|variant| variant.settings.procedure.outlook()).collect()
}

/// Order of the variants that share a target.
enum Turns {
    /// Variants take turns at every point.
    Points {
        group: Vec<VariantIndex>,
        /// The order of the points in each block.
        rungs: Vec<Vec<usize>>,
        /// Order of the variants by point and block, as positions in the group.
        variants: Vec<Vec<Vec<usize>>>,
    },
    /// Chains take turns. The list contains, for each block, the variants of all chains in order.
    Chains(Vec<Vec<VariantIndex>>),
}

impl Turns {
    fn arrange(
        blocks: usize,
        outlooks: &[ProcedureEstimate],
        group: &[Chain],
        chance: &mut Chance,
    ) -> Turns {
        if group.iter().any(|chain| chain.0.len() > 1) {
            return Turns::arrange_chains(blocks, group, chance);
        }
        let group: Vec<VariantIndex> =
            group.iter().flat_map(|chain| &chain.0).flatten().copied().collect();
        let of_group = || group.iter().map(|variant| &outlooks[variant.0]);
        let rungs_max = of_group().map(|outlook| outlook.turns_max).max().unwrap_or(0);
        // The order of a single block cannot be balanced. In this case, the points rise, because
        // such a run is easier to follow.
        let must_rise = blocks == 1 || of_group().any(|outlook| !outlook.any_order);
        Turns::Points {
            rungs: if must_rise {
                vec![(0..rungs_max).collect(); blocks]
            } else {
                balanced(rungs_max, blocks, chance)
            },
            variants: (0..rungs_max).map(|_| balanced(group.len(), blocks, chance)).collect(),
            group,
        }
    }

    fn arrange_chains(blocks: usize, group: &[Chain], chance: &mut Chance) -> Turns {
        let mut by_block = vec![Vec::new(); blocks];
        let chains = balanced(group.len(), blocks, chance);
        // Order of the variants that take turns. The indexes are the chain, the step and the block.
        let steps: Vec<Vec<Vec<Vec<usize>>>> = group
            .iter()
            .map(|chain| {
                let step = |step: &Vec<VariantIndex>| balanced(step.len(), blocks, chance);
                chain.0.iter().map(step).collect()
            })
            .collect();
        for (block, order) in chains.iter().enumerate() {
            for &at in order {
                for (step, turns) in group[at].0.iter().zip(&steps[at]) {
                    by_block[block].extend(turns[block].iter().map(|&place| step[place]));
                }
            }
        }
        Turns::Chains(by_block)
    }

    fn cells(&self, block: BlockIndex, outlooks: &[ProcedureEstimate]) -> Vec<Cell> {
        match self {
            Turns::Chains(by_block) => {
                let variants = by_block[block.0].iter();
                variants.flat_map(|&variant| rising(variant, block, outlooks)).collect()
            }
            Turns::Points {
                group,
                rungs,
                variants,
            } => {
                let at = |rung: usize| {
                    let turn = variants[rung][block.0].iter().map(|&at| group[at]);
                    let there = turn.filter(move |&one| rung < outlooks[one.0].turns_max);
                    there.map(move |variant| Cell {
                        variant,
                        rung,
                        block,
                    })
                };
                rungs[block.0].iter().flat_map(|&rung| at(rung)).collect()
            }
        }
    }
}

/// A sequence of steps that depend on each other. For each step, the list contains the variants
/// that take turns in it. A variant that is not a step of an import is a chain with a single step.
struct Chain(Vec<Vec<VariantIndex>>);

/// Returns the chains of a study, in the order of the study. A variant without faults that was
/// added for a step takes turns with that step, because it needs the same earlier steps.
fn chains(study: &Study) -> Vec<Chain> {
    let import = |variant: VariantIndex| study.variant(variant).settings.workload.import.as_ref();
    let is_next = |last: &ImportedCommands, import: &ImportedCommands| {
        let after = ImportedCommands {
            step: last.step + 1,
            ..last.clone()
        };
        after == *import
    };
    let mut chains: Vec<Chain> = Vec::new();
    for variant in study.variant_indexes() {
        let of_beside = |step: &&mut Vec<VariantIndex>| is_beside(study, step[0], variant);
        if let Some(step) = chains.iter_mut().flat_map(|chain| &mut chain.0).find(of_beside) {
            step.push(variant);
            continue;
        }
        let last = chains.last_mut().filter(|chain| {
            let last = chain.0.last().and_then(|step| import(step[0]));
            last.zip(import(variant)).is_some_and(|(last, own)| is_next(last, own))
        });
        match last {
            Some(chain) => chain.0.push(vec![variant]),
            None => chains.push(Chain(vec![vec![variant]])),
        }
    }
    chains
}

/// Returns true if `variant` was added as the variant without faults for `step`, which is a step of
/// an import.
fn is_beside(study: &Study, step: VariantIndex, variant: VariantIndex) -> bool {
    let [step, variant] = [step, variant].map(|one| study.variant(one));
    variant.is_added
        && variant.settings.workload.import.is_some()
        && step.settings.without_faults() == variant.settings.without_faults()
}

/// Returns an order of `items` items for each block. In every `items` consecutive blocks, each item
/// has each position once (a Latin square). So after any number of blocks, the numbers of times
/// that an item had each position differ by at most one. The squares are Williams squares (1949,
/// "Experimental designs balanced for the estimation of residual effects of treatments"). Each item
/// also follows each other item equally often. For an even number of items, this is true within one
/// square, and for an odd number within two squares. The assignment of items and the order of a
/// square's rows are random.
pub(super) fn balanced(items: usize, blocks: usize, chance: &mut Chance) -> Vec<Vec<usize>> {
    let mut orders = Vec::with_capacity(blocks + items);
    let mut names: Vec<usize> = (0..items).collect();
    chance.shuffle(&mut names);
    let mut is_mirrored = false;
    while orders.len() < blocks {
        let mut square: Vec<Vec<usize>> = (0..items.max(1))
            .map(|row| {
                let name = |place: usize| names[(zigzag(place, items) + row) % items];
                let mut order: Vec<usize> = (0..items).map(name).collect();
                if is_mirrored {
                    order.reverse();
                }
                order
            })
            .collect();
        chance.shuffle(&mut square);
        orders.append(&mut square);
        is_mirrored = !is_mirrored;
    }
    orders.truncate(blocks);
    orders
}

/// Returns the number at a position of the sequence 0, 1, n − 1, 2, n − 2, …, where n is `items`.
/// The differences between neighbours, modulo n, are all different.
fn zigzag(place: usize, items: usize) -> usize {
    match place % 2 {
        0 => (items - place / 2) % items,
        _ => place.div_ceil(2),
    }
}

fn groups_by_target(study: &Study) -> Vec<Vec<Chain>> {
    let target = |chain: &Chain| &study.variant(chain.0[0][0]).settings.target;
    let mut groups: Vec<Vec<Chain>> = Vec::new();
    for chain in chains(study) {
        let same = |group: &&mut Vec<Chain>| target(&group[0]) == target(&chain);
        match groups.iter_mut().find(same) {
            Some(group) if study.screen.is_none() => group.push(chain),
            _ => groups.push(vec![chain]),
        }
    }
    groups
}

/// A source of shuffles that depend only on a seed. The same seed has the same results on every
/// machine.
pub(super) struct Chance(pub(super) Draws);

impl Chance {
    /// Shuffles the items by the Fisher-Yates method. The bias of the modulo operation is below
    /// 2^-50 for any number of variants.
    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = (self.0.bits() % (last as u64 + 1)) as usize;
            items.swap(last, other);
        }
    }
}
