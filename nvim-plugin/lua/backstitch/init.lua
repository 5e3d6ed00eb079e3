--- What others may call: set-up, the interface for agents inside Neovim, and what a status line shows.
local config = require('backstitch.config')
local server = require('backstitch.server')
local task = require('backstitch.task')

local M = {}

local has_begun = false

--- Changes options. Nothing has to be called: without it all is as `:help backstitch-options` lists it, or as
--- `vim.g.backstitch` says.
---@param options? table
function M.setup(options)
  config.set(options or {})
  if has_begun then
    require('backstitch.blame').set(config.get().blame.enabled)
    require('backstitch.agents').enable()
    server.configure()
    server.restart()
  end
end

--- Starts the server for what is open; called by Neovim itself once it has begun.
function M.start()
  if has_begun then
    return
  end
  has_begun = true
  require('backstitch.highlights').enable()
  require('backstitch.documents').enable()
  require('backstitch.reload').enable()
  require('backstitch.blame').enable()
  require('backstitch.status').enable()
  require('backstitch.agents').enable()
  server.enable()
end

--- What the status line shows of this buffer's workspace, empty where there is no history: the newest turn, and the
--- branch where it is not `main`.
---@return string
function M.statusline()
  return require('backstitch.status').line()
end

---@param done? fun(failure: backstitch.Failure?, result: table?)
---@param fn async fun(): table
local function call(done, fn)
  task.run(fn, done)
end

--- An agent inside Neovim begins on a prompt: what is written until `turn_end` is its own where it says so, and one can
--- rewind to before it.
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

--- Its turn has ended.
---@param turn { agent?: string, session?: string, buf?: integer, root?: string }
---@param done? fun(failure: backstitch.Failure?, result: backstitch.TurnResult?)
function M.turn_end(turn, done)
  call(done, function()
    local client = server.client(turn.buf, turn.root)
    local params = { agent = turn.agent, session = turn.session, workspace = turn.root }
    return server.request(client, 'backstitch/turnEnd', next(params) and params or vim.empty_dict())
  end)
end

--- An edit of an agent, applied and recorded as its own: a snapshot is there before it.
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

--- A page of the timeline, newest first.
---@param params backstitch.TimelineParams
---@param done fun(failure: backstitch.Failure?, result: backstitch.TimelineResult?)
function M.timeline(params, done)
  call(done, function()
    return server.request(server.client(), 'backstitch/timeline', next(params) and params or vim.empty_dict())
  end)
end

return M
