//! Checks a specification and builds a program from it. The module reports all mistakes at once.

use crate::counters;
use crate::iot;
use crate::keyvalue;
use crate::kv;
use crate::names::names;
use crate::params::{Params, did_you_mean};
use crate::program::Program;
use crate::registers;
use crate::spec::{Problem, Spec};
use crate::standard1;
use crate::tabular;
use crate::workload_parts::{
    Draft, KEYSPACE_CHARACTERS_MAX, NamedWorkload, ROWS_MAX, is_identifier, keyspace_statements,
};

/// Compiles a specification.
///
/// # Errors
/// All mistakes in the specification. Each mistake has a path that starts at the workload section
/// of the study.
pub fn compile(spec: &Spec) -> Result<Program, Vec<Problem>> {
    let mut params = Params::new(spec);
    let Some(named) = find(&mut params) else {
        return Err(params.problems);
    };
    check_param_names(&mut params, named);
    let keyspace = keyspace(&mut params, named);
    let keyspaces = keyspace_statements(&mut params, &keyspace);
    let weights = weights(&mut params, named);
    if spec.rows == 0 || spec.rows > ROWS_MAX {
        let message = format!(
            "the study loads {} rows; the number must be from 1 to {ROWS_MAX}",
            spec.rows
        );
        let hint = Some("set the number of rows to load".to_owned());
        params.problem(&["rows"], message, hint);
    }
    let draft = Draft {
        named,
        keyspace,
        keyspaces,
        weights,
    };
    let program = match named.name {
        standard1::NAME => standard1::program(&mut params, draft),
        iot::NAME | iot::NAME_TIMESERIES => iot::program(&mut params, draft),
        keyvalue::NAME => keyvalue::program(&mut params, draft),
        tabular::NAME => tabular::program(&mut params, draft),
        kv::NAME => kv::program(&mut params, draft),
        counters::NAME => counters::program(&mut params, draft),
        registers::NAME => registers::program(&mut params, draft),
        other => unreachable!("{other} is named but not built"),
    };
    if params.problems.is_empty() {
        Ok(program)
    } else {
        Err(params.problems)
    }
}

fn find(params: &mut Params) -> Option<&'static NamedWorkload> {
    let use_ = params.spec.use_.as_str();
    let found = names().iter().find(|named| named.name == use_);
    if found.is_none() {
        let all: Vec<&str> = names().iter().map(|named| named.name).collect();
        let hint = did_you_mean(use_, all.iter().copied());
        let meant = hint
            .as_deref()
            .and_then(|hint| all.iter().find(|name| hint.ends_with(&format!(" {name}?"))));
        params.problem(
            &["use"],
            format!(
                "no workload has the name \"{use_}\"; `cassay workload list` shows all workloads"
            ),
            hint,
        );
        // If a workload has a similar name, the user probably meant that workload. This code then
        // also reports the kinds of the mix that the workload lacks.
        if let Some(meant) = names().iter().find(|named| Some(&named.name) == meant) {
            let spec = params.spec;
            for (kind, _) in &spec.mix {
                check_kind(params, meant, "mix", kind);
            }
        }
    }
    found
}

fn check_param_names(params: &mut Params, named: &NamedWorkload) {
    for name in params.spec.params.keys() {
        if named.params.iter().any(|param| param.0 == name) {
            continue;
        }
        let all: Vec<&str> = named.params.iter().map(|param| param.0).collect();
        let hint = did_you_mean(name, all.iter().copied());
        let message = format!(
            "{} has no parameter \"{name}\"; it has {}",
            named.name,
            all.join(", ")
        );
        params.unknown_name(&["params", name], message, hint);
    }
}

fn keyspace(params: &mut Params, named: &NamedWorkload) -> String {
    let Some(keyspace) = &params.spec.keyspace else {
        return named.keyspace.to_owned();
    };
    if !is_identifier(keyspace) {
        let message = format!(
            "keyspace \"{keyspace}\" is not a valid name; it may have 1 to \
             {KEYSPACE_CHARACTERS_MAX} letters, digits and underscores"
        );
        params.problem(&["keyspace"], message, None);
    }
    keyspace.clone()
}

fn weights(params: &mut Params, named: &NamedWorkload) -> Vec<f64> {
    let spec = params.spec;
    let mut weights = vec![0.0; named.kinds.len()];
    if spec.mix.is_empty() {
        for (kind, weight) in named.mix {
            if let Some(index) = named.kinds.iter().position(|name| name == kind) {
                weights[index] = *weight;
            }
        }
        return weights;
    }
    for (index, (kind, weight)) in spec.mix.iter().enumerate() {
        let known = check_kind(params, named, "mix", kind);
        if !(weight.is_finite() && *weight >= 0.0) {
            let message = format!("the weight of {kind} is {weight}; it must be 0 or more");
            params.problem(&["mix", kind], message, None);
        } else if spec.mix[..index].iter().any(|(earlier, _)| earlier == kind) {
            params.problem(&["mix", kind], format!("{kind} has two weights"), None);
        } else if let Some(known) = known {
            weights[known] = *weight;
        }
    }
    if params.problems.iter().all(|problem| problem.path[0] != "mix") {
        let sum: f64 = weights.iter().sum();
        if !(sum > 0.0 && sum.is_finite()) {
            let message =
                format!("the weights add up to {sum}; at least one kind needs a weight above 0");
            params.problem(&["mix"], message, None);
        }
    }
    weights
}

fn check_kind(
    params: &mut Params,
    named: &NamedWorkload,
    section: &str,
    kind: &str,
) -> Option<usize> {
    let found = named.kinds.iter().position(|name| *name == kind);
    if found.is_none() {
        let hint = did_you_mean(kind, named.kinds.iter().copied());
        let message = format!(
            "{} has no kind of operation \"{kind}\"; it has {}",
            named.name,
            named.kinds.join(", ")
        );
        params.unknown_name(&[section, kind], message, hint);
    }
    found
}
