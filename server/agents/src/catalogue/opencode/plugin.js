// Backstitch for opencode: tells `backstitch hook opencode` of prompts and tool calls, and carries out its answers.
// `backstitch setup opencode` wrote this file and brings it up to date; `backstitch setup opencode --uninstall` removes it.
import { spawn, spawnSync } from "node:child_process"

const PROGRAM = "backstitch"
const ARGUMENTS = ["hook", "opencode", "--limit", "86400"]

/** Milliseconds after the end of a hook in which its output may still come. */
const GRACE = 200
/** Milliseconds at most that opencode waits for the hook at the end of a turn, and for the parent of a session. */
const END = 3000
const LOOK = 1000

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
    let isOver = false
    const end = (signal) => {
      if (isOver) return
      isOver = true
      held?.delete(child)
      if (stderr) log(stderr.trim())
      resolve(signal ? { deny: "backstitch: its hook was killed while it held this call" } : read(stdout))
    }
    child.on("close", (_, signal) => end(signal))
    // its own process that is left may keep the pipes open
    child.on("exit", (_, signal) => setTimeout(end, GRACE, signal).unref?.())
    child.stdin.end(JSON.stringify(payload))
  })
}

/** Reads an answer. One that cannot be read lets the call through. */
function read(text) {
  try {
    return JSON.parse(text || "{}") ?? {}
  } catch {
    return {}
  }
}

/** Resolves to this, or after a time to nothing. */
function within(milliseconds, promise) {
  return Promise.race([promise, new Promise((resolve) => setTimeout(resolve, milliseconds).unref?.())])
}

export const Backstitch = async ({ client, directory }) => {
  /** The session at the root of each session: that of a subagent has a parent. */
  const roots = new Map()
  /** Id of the newest message of the user, by root. It names the turn. */
  const turns = new Map()
  /** Calls that have begun, by id. */
  const calls = new Set()
  /** Texts for the model that go with the output of the next call, by session. */
  const notes = new Map()
  /** Hooks that hold a call, by session. */
  const held = new Map()

  const log = (message) => {
    const entry = { service: "backstitch", level: "warn", message }
    client.app.log({ body: entry }).catch(() => {})
  }

  const find = async (session) => {
    try {
      const told = await within(LOOK, client.session.get({ path: { id: session } }))
      if (told?.data?.parentID) return await root(told.data.parentID)
      if (told?.data) return session
    } catch {
      // it is asked again at the next event
    }
    roots.delete(session)
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

  const holding = (session) => {
    if (!held.has(session)) held.set(session, new Set())
    return held.get(session)
  }

  const tell = async (event, session, fields) => hook(await payload(event, session, fields), { log })

  const ask = async (event, session, fields) =>
    hook(await payload(event, session, fields), { held: holding(session), log })

  /** The session ends its work: nobody waits for its held calls any longer. */
  const release = (session) => {
    for (const child of held.get(session) ?? []) child.kill()
    held.delete(session)
  }

  const keep = (session, note) => {
    if (note !== undefined) notes.set(session, [...(notes.get(session) ?? []), note])
  }

  /** Runs what is ours, and logs its failure: opencode continues. */
  const safely = async (act) => {
    try {
      return await act()
    } catch (error) {
      log(`a hook failed: ${error}`)
    }
  }

  const stop = (session) => client.session.abort({ path: { id: session } }).catch(() => {})

  const onEvent = {
    "session.created": async ({ info }) => {
      roots.set(info.id, info.parentID ? root(info.parentID) : Promise.resolve(info.id))
      if (!info.parentID) await tell("session.created", info.id, {})
    },
    "session.idle": async ({ sessionID }) => {
      const told = await payload("session.idle", sessionID, {})
      release(sessionID)
      // opencode may end before a hook has, and does not wait for this one
      const input = JSON.stringify(told)
      spawnSync(PROGRAM, ARGUMENTS, { input, stdio: ["pipe", "ignore", "ignore"], timeout: END })
    },
    "session.error": ({ sessionID }) => release(sessionID),
    "session.deleted": async ({ info }) => {
      if ((await root(info.id)) === info.id) await tell("session.deleted", info.id, {})
      for (const map of [roots, turns, notes, held]) map.delete(info.id)
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
    event: ({ event }) => safely(() => onEvent[event.type]?.(event.properties)),

    "chat.message": ({ sessionID }, { message, parts }) =>
      safely(async () => {
        // the words for a subagent are no prompt of the user
        if ((await root(sessionID)) !== sessionID) return
        turns.set(sessionID, message.id)
        const texts = (parts ?? []).flatMap((part) => {
          if (part.type === "text" && !part.synthetic) return [part.text]
          return part.type === "file" && part.filename ? [`@${part.filename}`] : []
        })
        await tell("chat.message", sessionID, { prompt: texts.join("\n") })
      }),

    "tool.execute.before": async ({ tool, sessionID, callID }, output) => {
      const denied = await safely(async () => {
        calls.add(callID)
        const { deny, input, note, stop: end } = await ask("tool.execute.before", sessionID, {
          tool_name: tool,
          tool_use_id: callID,
          tool_input: output.args,
        })
        keep(sessionID, note)
        if (end !== undefined) stop(sessionID)
        if (deny !== undefined) {
          calls.delete(callID)
          return deny
        }
        return input && change(output, input)
      })
      if (denied !== undefined) throw new Error(denied)
    },

    "tool.execute.after": ({ tool, sessionID, callID, args }, output) =>
      safely(async () => {
        calls.delete(callID)
        const { title, metadata } = output
        const { note, stop: end } = await ask("tool.execute.after", sessionID, {
          tool_name: tool,
          tool_use_id: callID,
          tool_input: args,
          tool_response: { title, output: output.output, metadata },
        })
        keep(sessionID, note)
        const texts = notes.get(sessionID) ?? []
        notes.delete(sessionID)
        for (const text of texts) output.output = `${output.output}\n\n${text}`
        if (end !== undefined) stop(sessionID)
      }),

    "experimental.session.compacting": ({ sessionID }) =>
      safely(() => tell("experimental.session.compacting", sessionID, {})),
  }
}

/** Changes the arguments of a call in place: opencode keeps its own reference. Returns the reason why it cannot. */
function change(output, input) {
  try {
    for (const name of Object.keys(output.args)) delete output.args[name]
    Object.assign(output.args, input)
  } catch (error) {
    return `backstitch: its input could not be changed (${error}); it did not run`
  }
}
