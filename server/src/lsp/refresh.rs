//! Has the client ask for its lenses anew, one time after the other and not too often: an editor puts off what it
//! shows each time that it is told, and among busy agents it would be told without end.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::session::{ANSWER, Session};

/// Editors wait for a quarter of a second without such news before they ask.
const BETWEEN: Duration = Duration::from_millis(500);

/// Runs until the server ends. The first news is told at once.
pub async fn follow(session: Arc<Session>) {
    loop {
        session.stale.notified().await;
        if !session.abilities().lens_refresh {
            continue;
        }
        if !matches!(
            timeout(ANSWER, session.client.code_lens_refresh()).await,
            Ok(Ok(()))
        ) {
            tracing::info!("the client did not refresh its lenses");
        }
        sleep(BETWEEN).await;
    }
}
