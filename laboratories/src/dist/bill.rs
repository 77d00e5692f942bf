//! Writes the bill of materials of a program (SBOM) as JSON of CycloneDX 1.5, from cargo's lock
//! file.

use super::parts::Part;
use serde_json::{Value, json};

/// Returns the bill of materials of the program. `version` is its version. The other arguments are
/// the digest of the program (SHA-256) and the time of the build (RFC 3339).
pub fn build(parts: &[Part], version: &str, program_sha256: &str, time: &str) -> Value {
    let own = reference("cassay", version);
    let of_part = |part: &Part| reference(&part.name, &part.version);
    let all: Vec<String> = parts.iter().map(of_part).collect();
    let mut depends = vec![json!({"ref": own, "dependsOn": all})];
    depends.extend(parts.iter().map(|part| {
        let uses = part.uses.iter().map(|(name, version)| reference(name, version));
        json!({"ref": of_part(part), "dependsOn": uses.collect::<Vec<_>>()})
    }));
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": time,
            "component": {
                "type": "application",
                "bom-ref": own,
                "name": "cassay",
                "version": version,
                "licenses": [{"expression": "Apache-2.0"}],
                "hashes": [{"alg": "SHA-256", "content": program_sha256}],
            },
        },
        "components": parts.iter().map(component).collect::<Vec<_>>(),
        "dependencies": depends,
    })
}

fn reference(name: &str, version: &str) -> String {
    format!("{name}@{version}")
}

fn component(part: &Part) -> Value {
    let mut component = json!({
        "type": "library",
        "bom-ref": reference(&part.name, &part.version),
        "name": part.name,
        "version": part.version,
        "licenses": [{"expression": part.license}],
        "externalReferences": [{"type": "vcs", "url": part.source}],
    });
    // Only crates have a digest, because only they come as packages from a registry.
    if let Some(sha256) = &part.sha256 {
        component["purl"] = json!(format!("pkg:cargo/{}@{}", part.name, part.version));
        component["hashes"] = json!([{"alg": "SHA-256", "content": sha256}]);
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_a_component_that_the_program_depends_on() {
        let part = Part {
            name: "ring".to_owned(),
            version: "0.17.14".to_owned(),
            license: "Apache-2.0 AND ISC".to_owned(),
            source: "https://github.com/briansmith/ring".to_owned(),
            sha256: Some("a4".to_owned()),
            uses: vec![("libc".to_owned(), "0.2.1".to_owned())],
            folder: "/".into(),
        };
        let bill = build(&[part], "1.2.3+abc", "ff", "2026-11-26T00:00:00Z");
        let component = &bill["components"][0];
        assert_eq!(component["purl"], "pkg:cargo/ring@0.17.14");
        assert_eq!(component["hashes"][0]["content"], "a4");
        assert_eq!(bill["metadata"]["component"]["hashes"][0]["content"], "ff");
        assert_eq!(
            bill["dependencies"][0]["dependsOn"][0],
            component["bom-ref"]
        );
        assert_eq!(bill["dependencies"][1]["dependsOn"][0], "libc@0.2.1");
    }
}
