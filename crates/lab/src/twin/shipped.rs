//! The reports of the twins that ship, as `manx fit` wrote them, compiled in.

const FITS: [(&str, &str); 2] = [
    ("samsung-980pro", include_str!("../../../../devices/fits/samsung-980pro.json")),
    ("drive-a", include_str!("../../../../devices/fits/drive-a.json")),
];

/// Their devices' names, and the documents.
pub fn shipped() -> impl Iterator<Item = (&'static str, &'static str)> {
    FITS.into_iter()
}
