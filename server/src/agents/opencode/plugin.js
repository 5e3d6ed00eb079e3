// Backstitch for opencode: tells `backstitch hook opencode` of prompts and tool calls, and carries out its answers.
// `backstitch setup opencode` wrote this file and brings it up to date; `backstitch setup opencode --uninstall` removes it.
import { spawn, spawnSync } from "node:child_process"

const PROGRAM = "backstitch"
const ARGUMENTS = ["hook", "opencode", "--limit", "86400"]

/**
 * Has the hook handle an event. Its answer may have `deny` (a reason), `input` (the call's new one), `note` (a text for the
 * model) and `stop` (the reason why the turn ends). A hook that fails lets the call through; one that is killed does not.
 */
function hook(payload, { held, log }) {
  return new Promise((resolve) => {
    const child = spawn(PROGRAM, ARGUMENTS, { stdio: ["pipe", "pipe", "pipe"] })
    held?.add(child)
    let stdout = ""
    let stderr = ""
    child.stdout.setEncoding("utf8").on("data", (text) => (stdout += text))
    child.stderr.setEncoding("utf8").on("data", (text) => (stderr += text))
    child.stdin.on("error", () => {})
    child.on("error", (error) => {
      held?.delete(child)
      log(String(error))
      resolve({})
    })
    child.on("close", (code, signal) => {
      held?.delete(child)
      if (stderr) log(stderr.trim())
      if (signal) return resolve({ deny: "backstitch: its hook was killed while it held this call" })
      try {
        resolve(stdout ? JSON.parse(stdout) : {})
      } catch {
        resolve({})
      }
    })
    child.stdin.end(JSON.stringify(payload))
  })
}

export const Backstitch = async ({ client, directory }) => {
  if (process.env.BACKSTITCH_HOOK === "off") return {}
  /** The session at the root of each session: that of a subagent has a parent. */
  const roots = new Map()
  /** Id of the newest message of the user, by root. It names the turn. */
  const turns = new Map()
  /** Calls that have begun, by id, with their arguments, and texts for the model that go with their output. */
  const calls = new Map()
  /** Hooks that hold a call, by root. */
  const held = new Map()

  const log = (message) => {
    const entry = { service: "backstitch", level: "warn", message }
    client.app.log({ body: entry }).catch(() => {})
  }

  const find = async (session) => {
    try {
      const { data } = await client.session.get({ path: { id: session } })
      if (data?.parentID) return await root(data.parentID)
    } catch {
      // it is taken for a session of its own
    }
    return session
  }

  const root = (session) => {
    if (!roots.has(session)) roots.set(session, find(session))
    return roots.get(session)
  }

  const payload = async (event, session, fields) => {
    const top = await root(session)
    return {
      hook_event_name: event,
      session_id: top,
      agent_id: top === session ? undefined : session,
      cwd: directory,
      message_id: turns.get(top),
      ...fields,
    }
  }

  const holding = async (session) => {
    const top = await root(session)
    if (!held.has(top)) held.set(top, new Set())
    return held.get(top)
  }

  const tell = async (event, session, fields) => hook(await payload(event, session, fields), { log })

  const ask = async (event, session, fields) =>
    hook(await payload(event, session, fields), { held: await holding(session), log })

  /** The turn ends: nobody waits for its held calls any more. */
  const release = async (session) => {
    for (const child of await holding(session)) child.kill()
  }

  const stop = (session) => client.session.abort({ path: { id: session } }).catch(() => {})

  const onEvent = {
    "session.created": async ({ info }) => {
      roots.set(info.id, info.parentID ? root(info.parentID) : Promise.resolve(info.id))
      if (!info.parentID) await tell("session.created", info.id, {})
    },
    "session.idle": async ({ sessionID }) => {
      const told = await payload("session.idle", sessionID, {})
      if (told.agent_id === undefined) await release(sessionID)
      // opencode may end before a hook has, and does not wait for this one
      spawnSync(PROGRAM, ARGUMENTS, { input: JSON.stringify(told), stdio: ["pipe", "ignore", "ignore"] })
    },
    "session.error": async ({ sessionID }) => {
      if (sessionID) await release(sessionID)
    },
    "session.deleted": async ({ info }) => {
      if ((await root(info.id)) === info.id) await tell("session.deleted", info.id, {})
    },
    "message.part.updated": async ({ part }) => {
      // a call that fails has no hook after it
      if (part.type !== "tool" || part.state.status !== "error" || !calls.has(part.callID)) return
      calls.delete(part.callID)
      await tell("tool.execute.error", part.sessionID, {
        tool_name: part.tool,
        tool_use_id: part.callID,
        tool_input: part.state.input,
        tool_response: { error: part.state.error },
      })
    },
  }

  return {
    event: async ({ event }) => {
      await onEvent[event.type]?.(event.properties)
    },

    "chat.message": async ({ sessionID }, { message, parts }) => {
      // what a subagent is told is no prompt of the user
      if ((await root(sessionID)) !== sessionID) return
      turns.set(sessionID, message.id)
      const texts = parts.flatMap((part) => {
        if (part.type === "text" && !part.synthetic) return [part.text]
        return part.type === "file" && part.filename ? [`@${part.filename}`] : []
      })
      await tell("chat.message", sessionID, { prompt: texts.join("\n") })
    },

    "tool.execute.before": async ({ tool, sessionID, callID }, output) => {
      const call = { note: undefined }
      calls.set(callID, call)
      const answer = await ask("tool.execute.before", sessionID, {
        tool_name: tool,
        tool_use_id: callID,
        tool_input: output.args,
      })
      if (answer.input) {
        // in place: opencode keeps its own reference
        for (const name of Object.keys(output.args)) delete output.args[name]
        Object.assign(output.args, answer.input)
      }
      call.note = answer.note
      if (answer.stop !== undefined) stop(sessionID)
      if (answer.deny !== undefined) {
        calls.delete(callID)
        throw new Error(answer.deny)
      }
    },

    "tool.execute.after": async ({ tool, sessionID, callID, args }, output) => {
      const note = calls.get(callID)?.note
      calls.delete(callID)
      const { title, metadata } = output
      const answer = await ask("tool.execute.after", sessionID, {
        tool_name: tool,
        tool_use_id: callID,
        tool_input: args,
        tool_response: { title, output: output.output, metadata },
      })
      for (const text of [note, answer.note]) {
        if (text !== undefined) output.output = `${output.output}\n\n${text}`
      }
      if (answer.stop !== undefined) stop(sessionID)
    },

    "experimental.session.compacting": async ({ sessionID }) => {
      await tell("experimental.session.compacting", sessionID, {})
    },
  }
}
