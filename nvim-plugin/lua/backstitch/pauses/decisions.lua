--- Decisions on held calls, and the other commands that are about one: its REPL, its call stack, a text to its model.
local files = require('backstitch.held_files')
local held = require('backstitch.pauses.held')
local view = require('backstitch.pauses.view')
local server = require('backstitch.server')
local task = require('backstitch.task')
local words = require('backstitch.words')

local M = {}

---@param text string
local function say(text)
  require('backstitch.notice').say('backstitch: ' .. text)
end

--- Returns the call that a command is about: the named one, that of the view, the only one, or the one that the user chooses.
---@async
---@param client vim.lsp.Client
---@param name? string
---@return backstitch.Pause
local function pick(client, name)
  ---@type backstitch.PausesResult
  local found = server.request(client, 'backstitch/pauses', { workspace = server.root_of(client) })
  local here = view.current()
  -- a window of a call that is decided by now decides on no other
  local wanted = name or (here and here.id) or files.pause_of(vim.api.nvim_get_current_buf())
  for _, pause in ipairs(found.pauses) do
    if pause.id == wanted then
      return pause
    end
  end
  if wanted then
    task.fail({ message = ('%s is no longer held'):format(wanted), hint = ':Backstitch pauses lists held calls' })
  end
  if #found.pauses == 0 then
    task.fail({ message = 'no call is held', hint = ':Backstitch pause holds the next one' })
  end
  if #found.pauses == 1 then
    return found.pauses[1]
  end
  return task.select(found.pauses, { prompt = 'Which held call?', format_item = held.summary })
end

--- Opens a REPL at a held call.
---@async
---@param client vim.lsp.Client
---@param name? string
function M.repl(client, name)
  require('backstitch.repl').open(client, pick(client, name).id)
end

--- Evaluates an input in the REPL that was opened last, or in one at a held call.
---@async
---@param client vim.lsp.Client
---@param input string
function M.eval(client, input)
  local repl = require('backstitch.repl')
  if not repl.is_open() then
    local window = vim.api.nvim_get_current_win()
    M.repl(client)
    vim.cmd.stopinsert()
    vim.api.nvim_set_current_win(window)
  end
  repl.eval(input)
end

--- Shows the call stack of a paused program. A pause that is named may be over.
---@async
---@param client vim.lsp.Client
---@param name? string
function M.stack(client, name)
  local about_it = name and { pause = name, workspace = server.root_of(client) } or held.about(pick(client))
  ---@type backstitch.PausesResult
  local found = server.request(client, 'backstitch/pauses', { workspace = about_it.workspace })
  local pause = vim.iter(found.pauses):find(function(one)
    return one.id == about_it.pause
  end)
  require('backstitch.programs').stack(client, about_it, pause)
end

--- Returns the call that is to run. In the list it is the one whose files are shown: a call of another row is shown first.
---@async
---@param client vim.lsp.Client
---@param name? string
---@return backstitch.Pause
local function pick_shown(client, name)
  local pause = pick(client, name)
  local open = view.get()
  local is_row = not name and open ~= nil and vim.api.nvim_get_current_buf() == open.list
  if is_row and open and (not open.shown or open.shown.pause ~= pause.id) and pause.by ~= 'program' then
    view.show(client, pause)
    task.fail({ message = ('%s was not shown yet: it is now'):format(pause.id), hint = 'press the key again' })
  end
  return pause
end

--- Stores a decision. One that lets the call run takes along the text that the user has changed. It lets nothing run that was
--- not shown. Before any other one the user is asked. The text counts also after its windows and the list were closed.
---@async
---@param client vim.lsp.Client
---@param command string
---@param pause backstitch.Pause
---@param more? table<string, any>
local function decide(client, command, pause, more)
  local arguments = vim.tbl_extend('force', held.about(pause), more or {})
  local own = files.of(pause)
  if own and vim.list_contains({ 'resume', 'step' }, command) then
    local is_stored = files.store(client, own, arguments.workspace)
    if is_stored then
      view.draw()
    end
    local open = view.get()
    if is_stored or open and open.shown == own then
      arguments.fingerprint = own.details.fingerprint
    end
  elseif own and files.is_changed(own) then
    local drop = ('Drop the text: %s'):format(command)
    local chosen = task.select({ drop, 'Keep editing' }, {
      prompt = ('%s has text of yours that is not written, and the call does not run:'):format(pause.id),
    })
    if chosen ~= drop then
      error(task.CALLED_OFF, 0)
    end
  end
  ---@type backstitch.DecisionResult
  local done = server.execute(client, 'backstitch.' .. command, arguments)
  say(('%s: %s'):format(held.summary(pause), done.outcome))
  local open = view.get()
  if open then
    open.session = pause.session
  end
  if own then
    files.drop(own)
    view.finish_files(own, done.outcome)
  end
  view.schedule_read(client)
end

--- Lets a call continue, with the changes of the user. `force`: also with an input that its tool will refuse.
---@async
---@param client vim.lsp.Client
---@param name? string
---@param force? boolean
function M.resume(client, name, force)
  decide(client, 'resume', pick_shown(client, name), { force = force or nil })
end

---@async
---@param client vim.lsp.Client
---@param how string
---@param force? boolean
---@param name? string
function M.step(client, how, force, name)
  decide(client, 'step', pick_shown(client, name), { how = how, force = force or nil })
end

--- Asks for the result that a program's call has instead, as it was typed before.
---@async
---@param pause backstitch.Pause
---@param problem? string
---@param typed? string
---@return string
local function ask_result(pause, problem, typed)
  local about = problem or ('Result of %s, as an expression; may be empty'):format(held.summary(pause))
  local value = task.await(function(back)
    vim.ui.input({ prompt = about .. ': ', default = typed }, vim.schedule_wrap(back))
  end)
  if value == nil then
    error(task.CALLED_OFF, 0)
  end
  return value
end

--- Skips a call. Asks for the result that a program's call has instead, again if its expression fails.
---@async
---@param client vim.lsp.Client
---@param name? string
function M.skip(client, name)
  local pause = pick(client, name)
  if not vim.list_contains(pause.can, 'replace') then
    return decide(client, 'skip', pause)
  end
  local value = ask_result(pause)
  while true do
    local ok, failed = pcall(decide, client, 'skip', pause, { value = value })
    if ok then
      return
    elseif type(failed) ~= 'table' or not failed.message or failed == task.CALLED_OFF or value == '' then
      error(failed, 0)
    end
    value = ask_result(pause, words.line(failed.message, 200), value)
  end
end

--- Refuses a call, or ends its turn. Asks for the reason.
---@async
---@param client vim.lsp.Client
---@param command 'deny'|'stop'
---@param message? string
function M.refuse(client, command, message)
  local pause = pick(client)
  message = message
    or task.await(function(back)
      vim.ui.input({ prompt = ('Reason for the model (%s): '):format(held.summary(pause)) }, vim.schedule_wrap(back))
    end)
  if message == nil then
    error(task.CALLED_OFF, 0)
  end
  decide(client, command, pause, { message = message })
end

---@async
---@param client vim.lsp.Client
---@param steps? string
function M.back(client, steps)
  local count = tonumber(steps or '1')
  if not count or count < 1 or count % 1 ~= 0 then
    task.fail({ message = ('%s is not a number of steps'):format(steps) })
  end
  decide(client, 'back', pick(client), { steps = count })
end

--- Sends a text to the model of an agent.
---@async
---@param client vim.lsp.Client
---@param text? string
function M.inject(client, text)
  text = text or task.input({ prompt = 'Tell the agent: ' })
  local here = view.current()
  local arguments = here and held.about(here) or { workspace = server.root_of(client) }
  server.execute(client, 'backstitch.inject', vim.tbl_extend('force', arguments, { text = text }))
  say('the text goes to the model with the next event that can carry it')
end

--- Shows the input of a call as JSON, to be changed.
---@async
---@param client vim.lsp.Client
function M.edit_input(client)
  view.show_input(client, pick(client))
end

return M
