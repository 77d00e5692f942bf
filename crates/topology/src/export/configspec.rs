//! Writes a VirtualMachineConfigSpec of the vSphere API in its JSON form, in which an object names
//! its type.
//!
//! With hardware version 20, the number of cores per socket is 0, so that vSphere 8 chooses this
//! number at power-on. Earlier versions refuse 0, so this module writes the planned number. In both
//! cases guestinfo contains the planned number.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::escapes::{self, wrong};
use super::placement::vsphere;
use super::vmx::{extra, memory_mib, placement};
use super::{ExportError, Placement, Source};
use crate::error::ReadError;
use crate::plan::Instance;
use crate::request::Profile;

/// Key with the number of cores per socket that the plan expects from the automatic choice.
const PER_SOCKET: &str = "guestinfo.cassay.coresPerSocket";

pub fn write(source: &Source, instance: &Instance) -> Result<String, ExportError> {
    let guest = vsphere(source.plan);
    let is_7 = source.plan.wish.profile == Profile::Vsphere7;
    let name = escapes::file_name(&source.plan.wish.host);
    let largest = guest.vnuma.iter().copied().max().unwrap_or(1);
    let is_even = guest.vnuma.iter().all(|&size| size == largest);
    let mut extra = extra(source, instance);
    extra.push((PER_SOCKET.to_owned(), guest.vcpus_per_socket().to_string()));
    let option = |(key, value): (String, String)| {
        let value = json!({"_typeName": "string", "_value": value});
        json!({"_typeName": "OptionValue", "key": key, "value": value})
    };
    let mut spec = Map::new();
    let mut put = |key: &str, value: Value| spec.insert(key.to_owned(), value);
    put("_typeName", "VirtualMachineConfigSpec".into());
    put("name", format!("{name}-{}", instance.index).into());
    put("version", if is_7 { "vmx-19" } else { "vmx-20" }.into());
    put("numCPUs", guest.vcpus().into());
    let per_socket = if is_7 { guest.vcpus_per_socket() } else { 0 };
    put("numCoresPerSocket", per_socket.into());
    put("memoryMB", memory_mib(instance)?.into());
    put("cpuHotAddEnabled", source.plan.wish.hot_add.into());
    put("memoryReservationLockedToMax", true.into());
    if !is_7 {
        put("simultaneousThreads", guest.threads.into());
        let virtual_numa = json!({
            "_typeName": "VirtualMachineVirtualNuma",
            "coresPerNumaNode": if is_even { largest } else { 0 },
            "exposeVnumaOnCpuHotadd": false,
        });
        put("virtualNuma", virtual_numa);
    }
    put("extraConfig", extra.into_iter().map(option).collect());
    Ok(format!("{:#}\n", Value::Object(spec)))
}

pub fn read(text: &str) -> Result<Placement, ReadError> {
    let spec: Value = serde_json::from_str(text)
        .map_err(|error| wrong("ConfigSpec", format!("no JSON: {error}")))?;
    let mut values = BTreeMap::new();
    for option in spec["extraConfig"].as_array().into_iter().flatten() {
        let value = &option["value"];
        let value = value.as_str().or_else(|| value["_value"].as_str());
        if let (Some(key), Some(value)) = (option["key"].as_str(), value) {
            values.insert(key.to_owned(), value.to_owned());
        }
    }
    for key in ["numCPUs", "memoryMB", "numCoresPerSocket"] {
        let number = spec[key].as_u64().unwrap_or_default();
        values.insert(key.to_owned(), number.to_string());
    }
    let per_socket = match spec["numCoresPerSocket"].as_u64() {
        Some(1..) => "numCoresPerSocket",
        _ => PER_SOCKET,
    };
    let mut placement = placement(&values, "memoryMB", "numCPUs", per_socket)?;
    for key in [
        "cpuAffinity",
        "memoryAffinity",
        "cpuAllocation",
        "memoryAllocation",
    ] {
        if !spec[key].is_null() {
            placement.ignore(format!("{key}: {}", spec[key]));
        }
    }
    Ok(placement)
}
