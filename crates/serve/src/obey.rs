//! Orders, as the server obeys them.

use crate::control::{Answer, Change, Order, Seen, told};
use crate::engine::Engine;
use crate::server::Server;
use crate::watch::Watch;
use serde_json::Value;
use std::path::Path;
use std::time;
use tracing::{debug, info};

impl<E: Engine> Server<'_, E> {
    /// Obeys what was ordered.
    pub(crate) fn obey(&mut self, watch: &mut dyn Watch) -> Result<(), String> {
        while let Some(asked) = watch.asked() {
            self.catch_up(watch)?;
            debug!(order = ?asked.order);
            let done = match &asked.order {
                Order::State => Ok(()),
                Order::Pause => self.pause(true, watch),
                Order::Resume => self.pause(false, watch),
                Order::Set(sets) => self.set(sets, watch),
                Order::Snapshot(folder) => self.snapshot(folder, watch),
                Order::Stop => {
                    self.is_over = true;
                    Ok(())
                }
            };
            let answer: Answer = done.map(|()| self.state(watch));
            asked.answer(answer);
        }
        Ok(())
    }

    fn pause(&mut self, is_paused: bool, watch: &mut dyn Watch) -> Result<(), String> {
        let change = watch.changed(&[])?;
        self.change(&Change { is_paused, ..change })?;
        self.is_paused = is_paused;
        let line =
            if is_paused { "GC is paused: it begins at the hard watermark" } else { "GC goes on" };
        info!("{line}");
        Ok(())
    }

    /// Requests under way are done in the snapshot, in the time that they take, and go on here.
    fn snapshot(&self, folder: &Path, watch: &dyn Watch) -> Result<(), String> {
        let (head, began) = (watch.head()?, time::Instant::now());
        let [engine] = self.fleet.all() else {
            return Err("several drives are served: a store holds one".to_string());
        };
        engine.snapshot(self.present(), folder, head)?;
        let (took, folder) = (began.elapsed().as_secs_f64(), folder.display());
        info!("a snapshot is in {folder}: requests waited {took:.2} s");
        Ok(())
    }

    fn set(&mut self, sets: &[String], watch: &mut dyn Watch) -> Result<(), String> {
        let change = Change { is_paused: self.is_paused, ..watch.changed(sets)? };
        let done = self.change(&change);
        match done {
            Ok(()) => info!("set: {}", sets.join(", ")),
            Err(_) => watch.refused(),
        }
        done
    }

    /// All engines take it, or none.
    fn change(&mut self, change: &Change) -> Result<(), String> {
        let now = self.present();
        self.fleet.all().iter().try_for_each(|engine| engine.may_change(change))?;
        self.fleet.all_mut().iter_mut().for_each(|engine| engine.change(now, change));
        Ok(())
    }

    fn state(&self, watch: &dyn Watch) -> Value {
        let nothing = Box::default();
        let seconds = self.seconds.as_ref().unwrap_or(&nothing);
        let is_model = self.fleet.all().iter().all(|engine| engine.drives() > 0);
        told(&Seen {
            engines: self.fleet.all(),
            now: self.present(),
            speed: self.clock.speed().factor(),
            wall_s: self.began.elapsed().as_secs_f64(),
            tally: &self.tally,
            second: &seconds[1],
            connections: self.connections.len(),
            is_paused: self.is_paused,
            settings: if is_model { watch.settings() } else { Value::Null },
        })
    }
}
