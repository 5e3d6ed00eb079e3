--- Public interface: setup, the functions for agents inside Neovim, and the text for a status line.
local config = require('backstitch.config')
local server = require('backstitch.server')
local task = require('backstitch.task')

local M = {}

local is_started = false

--- Changes options. The call is optional: `vim.g.backstitch` and the defaults in `:help backstitch-options` hold without
--- it.
---@param options? table
function M.setup(options)
  config.set(options or {})
  if is_started then
    require('backstitch.blame').set(config.get().blame.enabled)
    require('backstitch.signs').apply()
    require('backstitch.agents').enable()
    server.configure()
    server.restart()
  end
end

--- Starts the server for open buffers. The plugin calls it once Neovim has started.
function M.start()
  if is_started then
    return
  end
  is_started = true
  require('backstitch.highlights').enable()
  require('backstitch.documents').enable()
  require('backstitch.reload').enable()
  require('backstitch.on_disk').enable()
  require('backstitch.blame').enable()
  require('backstitch.signs').enable()
  require('backstitch.status').enable()
  require('backstitch.agents').enable()
  require('backstitch.pauses').enable()
  require('backstitch.breakpoints').enable()
  require('backstitch.repl').enable()
  require('backstitch.programs').enable()
  require('backstitch.dap').enable()
  server.enable()
end

--- Text for the status line about this buffer's workspace: the newest turn, and the branch unless it is `main`. Empty
--- without a history.
---@return string
function M.statusline()
  return require('backstitch.status').line()
end

---@param done? fun(failure: backstitch.Failure?, result: table?)
---@param fn async fun(): table
local function call(done, fn)
  task.run(fn, done)
end

--- Begins a turn of an agent inside Neovim. Edits until `turn_end` that name the agent are recorded as its own, and a
--- rewind to before the turn is possible.
---@param turn { agent: string, session: string, prompt?: string, buf?: integer, root?: string }
---@param done? fun(failure: backstitch.Failure?, result: backstitch.TurnResult?)
function M.turn_begin(turn, done)
  call(done, function()
    local client = server.client(turn.buf, turn.root)
    return server.request(client, 'backstitch/turnBegin', {
      agent = turn.agent,
      session = turn.session,
      prompt = turn.prompt,
      workspace = turn.root,
    })
  end)
end

--- Ends a turn.
---@param turn { agent?: string, session?: string, buf?: integer, root?: string }
---@param done? fun(failure: backstitch.Failure?, result: backstitch.TurnResult?)
function M.turn_end(turn, done)
  call(done, function()
    local client = server.client(turn.buf, turn.root)
    local params = { agent = turn.agent, session = turn.session, workspace = turn.root }
    return server.request(client, 'backstitch/turnEnd', next(params) and params or vim.empty_dict())
  end)
end

--- Applies an edit and records it as the agent's. A snapshot is taken before.
---@param edit { edit: lsp.WorkspaceEdit, label?: string, agent?: string, session?: string, buf?: integer }
---@param done? fun(failure: backstitch.Failure?, result: backstitch.ApplyEditResult?)
function M.apply_edit(edit, done)
  call(done, function()
    local client = server.client(edit.buf)
    return server.request(client, 'backstitch/applyEdit', {
      edit = edit.edit,
      label = edit.label,
      agent = edit.agent,
      session = edit.session,
    })
  end)
end

--- Requests a page of the timeline, newest first.
---@param params backstitch.TimelineParams
---@param done fun(failure: backstitch.Failure?, result: backstitch.TimelineResult?)
function M.timeline(params, done)
  call(done, function()
    return server.request(server.client(), 'backstitch/timeline', next(params) and params or vim.empty_dict())
  end)
end

return M
