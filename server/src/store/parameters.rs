//! The parameters of runs that are over: a file in the format safetensors for each, which is written
//! beside its place and then moved there, so that it is whole or not at all.

use super::{Store, StoreError};
use meshwork_engine::session::Whole;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use std::path::PathBuf;

/// What a trained model of text is, beside its study.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Parameters {
    /// The merges of its vocabulary; none for bytes.
    pub merges: Vec<(u32, u32)>,
    /// Every parameter with its numbers.
    pub tensors: Vec<Tensor>,
}

/// A parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// Its name.
    pub name: String,
    /// The sizes of its dimensions.
    pub sizes: Vec<usize>,
    /// Its elements, row-major.
    pub values: Vec<f64>,
    /// Whether they are numbers of single precision.
    pub is_single: bool,
}

impl Tensor {
    /// A parameter of a session.
    pub fn new(name: &str, whole: Whole, is_single: bool) -> Self {
        let sizes = whole.shape.dims().iter().map(|d| d.size as usize).collect();
        Self { name: name.to_owned(), sizes, values: whole.values, is_single }
    }
}

/// The name of the merges among the metadata.
const MERGES: &str = "merges";

impl Store {
    /// Keeps the parameters of a run.
    pub fn put_parameters(&self, run: &str, parameters: &Parameters) -> Result<(), StoreError> {
        let bytes = written(parameters)?;
        let place = self.parameters_file(run);
        let beside = place.with_extension("partial");
        let folder = |e| StoreError::Folder(self.folder.clone(), e);
        if let Some(parent) = place.parent() {
            std::fs::create_dir_all(parent).map_err(folder)?;
        }
        std::fs::write(&beside, bytes).map_err(folder)?;
        std::fs::rename(&beside, &place).map_err(folder)
    }

    /// The parameters of a run; nothing if none were kept.
    pub fn parameters(&self, run: &str) -> Result<Option<Parameters>, StoreError> {
        match std::fs::read(self.parameters_file(run)) {
            Ok(bytes) => read(&bytes).map(Some),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(StoreError::Folder(self.folder.clone(), e)),
        }
    }

    /// Forgets the parameters of a run.
    pub(super) fn remove_parameters(&self, run: &str) {
        // Most runs have none; a file that stays does no harm.
        drop(std::fs::remove_file(self.parameters_file(run)));
    }

    fn parameters_file(&self, run: &str) -> PathBuf {
        self.folder.join("runs").join(run).with_extension("safetensors")
    }
}

fn written(parameters: &Parameters) -> Result<Vec<u8>, StoreError> {
    let raw: Vec<Vec<u8>> = parameters.tensors.iter().map(bytes).collect();
    let views = parameters.tensors.iter().zip(&raw).map(|(tensor, raw)| {
        let dtype = if tensor.is_single { Dtype::F32 } else { Dtype::F64 };
        let view = TensorView::new(dtype, tensor.sizes.clone(), raw).map_err(corrupt)?;
        Ok((tensor.name.clone(), view))
    });
    let views = views.collect::<Result<Vec<_>, StoreError>>()?;
    let merges = serde_json::to_string(&parameters.merges)?;
    let about = [(MERGES.to_owned(), merges)].into_iter().collect();
    safetensors::serialize(views, Some(about)).map_err(corrupt)
}

fn bytes(tensor: &Tensor) -> Vec<u8> {
    let values = tensor.values.iter();
    match tensor.is_single {
        true => values.flat_map(|&x| (x as f32).to_le_bytes()).collect(),
        false => values.flat_map(|x| x.to_le_bytes()).collect(),
    }
}

fn read(bytes: &[u8]) -> Result<Parameters, StoreError> {
    let (_, about) = SafeTensors::read_metadata(bytes).map_err(corrupt)?;
    let merges = about.metadata().as_ref().and_then(|about| about.get(MERGES));
    let file = SafeTensors::deserialize(bytes).map_err(corrupt)?;
    let tensor = |(name, view): (&str, TensorView<'_>)| {
        let (sizes, is_single) = (view.shape().to_vec(), view.dtype() == Dtype::F32);
        let (singles, _) = view.data().as_chunks::<4>();
        let (doubles, _) = view.data().as_chunks::<8>();
        let values = match is_single {
            true => singles.iter().map(|b| f64::from(f32::from_le_bytes(*b))).collect(),
            false => doubles.iter().map(|b| f64::from_le_bytes(*b)).collect(),
        };
        Tensor { name: name.to_owned(), sizes, values, is_single }
    };
    Ok(Parameters {
        merges: merges.map_or(Ok(Vec::new()), |merges| serde_json::from_str(merges))?,
        tensors: file.iter().map(tensor).collect(),
    })
}

fn corrupt(e: safetensors::SafeTensorError) -> StoreError {
    StoreError::Corrupt(format!("the parameters of a run: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_come_back_as_they_were() {
        let folder = tempfile::TempDir::new().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let tensor = |name: &str, values: &[f64], is_single| Tensor {
            name: name.to_owned(),
            sizes: vec![values.len()],
            values: values.to_vec(),
            is_single,
        };
        let kept = Parameters {
            merges: vec![(116, 104), (256, 101)],
            tensors: vec![tensor("a/b", &[0.5, -1.25, 3.0], true), tensor("c", &[0.1], false)],
        };
        store.put_parameters("x", &kept).unwrap();
        let mut back = store.parameters("x").unwrap().unwrap();
        back.tensors.sort_by(|a, b| a.name.cmp(&b.name));
        assert_eq!(back, kept);
        store.remove_parameters("x");
        assert_eq!(store.parameters("x").unwrap(), None);
        std::fs::write(folder.path().join("runs/y.safetensors"), "no tensors").unwrap();
        assert!(matches!(store.parameters("y"), Err(StoreError::Corrupt(_))));
    }
}
