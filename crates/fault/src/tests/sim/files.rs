//! Files of simulated nodes.

use super::*;

impl NodeFiles for Sim {
    fn data_file(&mut self, _: NodeIndex) -> Result<(PathBuf, u64)> {
        Ok(("/host/nb-1-big-Data.db".into(), 100_000))
    }

    fn is_empty(&mut self, _: NodeIndex) -> Result<bool> {
        Ok(self.is(|what| matches!(what, Injection::Wipe { .. })) && !self.keeps_data)
    }

    fn data_files(
        &mut self,
        _: NodeIndex,
        _: &[String],
        of: Option<&str>,
    ) -> Result<Vec<DataFile>> {
        Ok(self.works.data_files(of))
    }

    fn clearing(&mut self, _: NodeIndex, _: &[String], _: &str) -> Result<Vec<FileStep>> {
        Ok(Vec::new())
    }

    fn keep_files(&mut self, node: NodeIndex) -> Result<()> {
        self.works.keep_files(node)
    }

    fn put_files_back(&mut self, node: NodeIndex) -> Result<()> {
        self.works.put_files_back(node)
    }

    fn configured(
        &mut self,
        _: NodeIndex,
        yaml: &Map<String, Value>,
    ) -> Result<(FileStep, FileStep)> {
        Ok(Works::configured(yaml))
    }
}
