//! The abilities of this adapter, as `initialize` tells them.

use dapts::{Capabilities, ExceptionBreakpointsFilter};
use serde_json::Value;

use super::failures::{FailureFilter, FailureKind};

/// Signs after which a client asks for completions.
const TRIGGERS: [&str; 4] = [".", ":", "!", "{"];

/// The body of the answer to `initialize`.
pub fn capabilities() -> Result<Value, String> {
    let yes = Some(true);
    let filters = FailureKind::ALL.map(|kind| ExceptionBreakpointsFilter {
        condition_description: Some(FailureFilter::CONDITION.to_owned()),
        default: Some(kind.is_on()),
        description: Some(kind.description().to_owned()),
        filter: kind.name().to_owned(),
        label: kind.label().to_owned(),
        supports_condition: yes,
    });
    let all = Capabilities {
        exception_breakpoint_filters: Some(filters.into()),
        completion_trigger_characters: Some(TRIGGERS.map(str::to_owned).into()),
        support_suspend_debuggee: yes,
        support_terminate_debuggee: yes,
        supports_ansistyling: yes,
        supports_breakpoint_locations_request: yes,
        supports_cancel_request: yes,
        supports_clipboard_context: yes,
        supports_completions_request: yes,
        supports_conditional_breakpoints: yes,
        supports_configuration_done_request: yes,
        supports_data_breakpoints: yes,
        supports_delayed_stack_trace_loading: yes,
        supports_evaluate_for_hovers: yes,
        supports_exception_filter_options: yes,
        supports_exception_info_request: yes,
        supports_function_breakpoints: yes,
        supports_goto_targets_request: yes,
        supports_hit_conditional_breakpoints: yes,
        supports_loaded_sources_request: yes,
        supports_log_points: yes,
        supports_restart_frame: yes,
        supports_restart_request: yes,
        supports_set_expression: yes,
        supports_set_variable: yes,
        supports_step_back: yes,
        supports_terminate_request: yes,
        ..Capabilities::default()
    };
    serde_json::to_value(all).map_err(|error| error.to_string())
}
