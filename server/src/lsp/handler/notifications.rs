//! The notifications to Backstitch's own clients. Pure.

use backstitch_protocol::{
    BreakpointsChanged, ChangedOnDisk, DidCheckpoint, DidFork, DidHit, DidPause, DidResume,
    DidRewind, DidSwitch, PauseChanged, ReplChanged, ReplOutput, Status, TimelineChanged,
};
use serde::{Deserialize, Serialize};
use tower_lsp::gen_lsp_types::{LspNotificationMethod, MessageDirection, Notification};

/// Declares a notification to the client.
macro_rules! notification {
    ($name:ident, $params:ty, $method:literal) => {
        #[derive(Clone, Copy, Debug, Serialize, Deserialize)]
        pub enum $name {}

        impl Notification for $name {
            type Params = $params;
            const METHOD: LspNotificationMethod<'static> = LspNotificationMethod::Custom($method);
            const MESSAGE_DIRECTION: MessageDirection = MessageDirection::ServerToClient;
        }
    };
}

notification!(
    CheckpointNotification,
    DidCheckpoint,
    "backstitch/didCheckpoint"
);
notification!(RewindNotification, DidRewind, "backstitch/didRewind");
notification!(ForkNotification, DidFork, "backstitch/didFork");
notification!(SwitchNotification, DidSwitch, "backstitch/didSwitch");
notification!(
    TimelineNotification,
    TimelineChanged,
    "backstitch/timelineChanged"
);
notification!(
    ChangedNotification,
    ChangedOnDisk,
    "backstitch/changedOnDisk"
);
notification!(StatusNotification, Status, "backstitch/status");
notification!(PauseNotification, DidPause, "backstitch/didPause");
notification!(ResumeNotification, DidResume, "backstitch/didResume");
notification!(
    PauseChangedNotification,
    PauseChanged,
    "backstitch/pauseChanged"
);
notification!(
    BreakpointsNotification,
    BreakpointsChanged,
    "backstitch/breakpointsChanged"
);
notification!(HitNotification, DidHit, "backstitch/didHit");
notification!(ReplOutputNotification, ReplOutput, "backstitch/replOutput");
notification!(
    ReplChangedNotification,
    ReplChanged,
    "backstitch/replChanged"
);
