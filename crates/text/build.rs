//! Turns jieba's dictionary and models (data/jieba) into the compact tables that `segment::chinese` reads.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

#[path = "src/segment/chinese/layout.rs"]
mod layout;
#[path = "build/sources.rs"]
mod sources;
#[path = "build/tables.rs"]
mod tables;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=data/jieba");
    println!("cargo::rerun-if-changed=src/segment/chinese/layout.rs");
    let data = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("data/jieba");
    let text = |name: &str| -> Result<String, Box<dyn Error>> {
        Ok(String::from_utf8(zstd::decode_all(&*fs::read(data.join(name))?)?)?)
    };
    let (words, model, tagger) = (text("dict.txt.zst")?, text("hmm.model.zst")?, text("posseg.txt.zst")?);
    let file = tables::file(&sources::words(&words)?, &sources::model(&model)?, &sources::tagger(&tagger)?)?;
    let compressed = zstd::encode_all(&*file, 19)?;
    fs::write(Path::new(&env::var("OUT_DIR")?).join("jieba.bin.zst"), compressed)?;
    Ok(())
}
