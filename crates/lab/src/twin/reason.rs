//! The reason for a bound of large requests: the link, or the work of a thread for each page.
//!
//! Both bound bytes a second, and a search stays with the one that it began with: so the other one
//! is looked at too. Only the link bounds several processes together.

use super::space::{Place, Space};

/// A thread is the reason where a page takes more than this part of what it can take at most.
const BY_THREAD: f64 = 0.3;
/// Where the other search begins: a link that bounds nothing, and a thread that works as long as it
/// can.
const FREE_LINK: f64 = 0.5;
const BUSY_PAGE: f64 = 0.8;

/// Where a search for the other reason begins; `None` if the space has only one.
pub(super) fn other_reason(space: &Space, point: &[f64]) -> Option<Vec<f64>> {
    let link = space.at(&Place::Key("drive.link"))?;
    let is_page = |number: &usize| matches!(space.parameters[*number].place, Place::Page(_));
    let pages: Vec<usize> = (0..space.parameters.len()).filter(is_page).collect();
    if pages.is_empty() {
        return None;
    }
    let by_thread = pages.iter().any(|page| point[*page] > BY_THREAD);
    let (free, busy) = if by_thread { (0.0, 0.0) } else { (FREE_LINK, BUSY_PAGE) };
    let mut start = point.to_vec();
    start[link] = free;
    pages.iter().for_each(|page| start[*page] = busy);
    Some(start)
}

#[cfg(test)]
mod tests {
    use super::super::space::{Parameter, Unit};
    use super::*;

    #[test]
    fn the_other_reason_of_a_link_is_a_thread_and_the_reverse() {
        let new = |place, unit| {
            let (low, high, start, base, from) = (1.0, 100.0, 2.0, None, String::new());
            Parameter { place, unit, low, high, start, base, from }
        };
        let link = new(Place::Key("drive.link"), Unit::MegaBytes);
        let page = new(Place::Page("libaio".to_string()), Unit::Micros);
        let mut space = Space { parameters: vec![page, link], known: Vec::new() };
        assert_eq!(other_reason(&space, &[0.1, 0.2]), Some(vec![BUSY_PAGE, FREE_LINK]));
        assert_eq!(other_reason(&space, &[0.7, 0.5]), Some(vec![0.0, 0.0]));
        space.parameters.pop();
        assert_eq!(other_reason(&space, &[0.1]), None);
    }
}
