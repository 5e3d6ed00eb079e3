//! The conversation of a restore: planned, shown and made together with its files.

use backstitch_core::restore::{ConversationHalf, Goal, Request, Scope};
use backstitch_core::{ConversationHow, Engine};
use backstitch_protocol::PlannedConversation;

use super::make::{MadeConversation, remove_left};
use super::plan::{ConversationPlan, ConversationWanted};
use super::read::ReadConversation;
use crate::restore_plan::ShownPlan;
use crate::terminal::error::{CliError, CliResult};

impl ConversationPlan {
    /// Plans the conversation of a restore, if it has one. Remains of others, after a kill, are removed first.
    pub fn of_restore(
        engine: &mut Engine,
        request: &Request,
    ) -> CliResult<Option<ConversationPlan>> {
        if request.scope == Scope::Code {
            return Ok(None);
        }
        let Goal::Rewind(at) = &request.goal else {
            let reason = format!(
                "scope {}: only a rewind has a conversation",
                request.scope.name()
            );
            return Err(CliError::usage(reason).hint("scope `code` concerns the files alone"));
        };
        remove_left(engine)?;
        let read = ReadConversation::at(engine, *at)?;
        let wanted = ConversationWanted::of(ConversationHow::Rewind);
        ConversationPlan::of(engine, read, &wanted).map(Some)
    }

    /// Its half of a restore. `made`: the session, once it is made.
    pub fn half(&self, made: Option<&MadeConversation>) -> ConversationHalf {
        ConversationHalf {
            basis: self.basis.clone(),
            made: made.map(|made| made.id),
        }
    }

    /// Adds it to the plan of the files.
    pub fn show_in(&self, shown: &mut ShownPlan) {
        let line = format!("Conversation: {}.", self.line());
        let sentences: Vec<String> = [line].into_iter().chain(self.notes()).collect();
        shown
            .sentences
            .after_title
            .extend(sentences.iter().cloned());
        shown.sentences.others.extend(sentences);
        shown.document.conversation = Some(self.shape(None));
    }

    /// Makes the session of a restore, before its files go back: all that can fail without a change of them.
    pub fn make_for(
        engine: &mut Engine,
        request: &mut Request,
    ) -> CliResult<Option<(Self, MadeConversation)>> {
        let Some(plan) = Self::of_restore(engine, request)? else {
            return Ok(None);
        };
        let made = plan.make(engine)?;
        request.conversation = Some(plan.half(Some(&made)));
        Ok(Some((plan, made)))
    }

    /// The conversation of a restore, without its files. `makes`: it is made.
    pub fn alone(
        engine: &mut Engine,
        request: &Request,
        makes: bool,
    ) -> CliResult<PlannedConversation> {
        let plan = Self::of_restore(engine, request)?;
        let plan =
            plan.ok_or_else(|| CliError::usage("scope code: the files have no conversation"))?;
        if !makes {
            return Ok(plan.shape(None));
        }
        let made = plan.make(engine)?;
        made.finish(engine)?;
        Ok(made.shape(&plan))
    }
}
