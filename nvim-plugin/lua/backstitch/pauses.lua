--- Held calls of agents: the list, the comparison of what a call would write, and the decisions. Nothing opens by itself
--- unless the option `pauses.open` says so, and a write decides nothing.
local config = require('backstitch.config')
local float = require('backstitch.float')
local outside = require('backstitch.outside')
local server = require('backstitch.server')
local task = require('backstitch.task')
local words = require('backstitch.words')

local M = {}

--- Debounce delay in milliseconds.
local DELAY = 20
local LIST = 'backstitch-pauses://'

local namespace = vim.api.nvim_create_namespace('backstitch.pauses')

---@class backstitch.HeldView
---@field list integer Buffer of the list.
---@field tab integer
---@field client integer
---@field workspace string
---@field rows backstitch.Pause[]
---@field shown? string The held call whose files are shown.
---@field changed? { inputText: string, fingerprint: string } The user's changes of the call that is shown.

---@type backstitch.HeldView?
local view

--- Calls that are held, by client.
---@type table<integer, backstitch.Pause[]>
local held = {}
---@type table<integer, uv.uv_timer_t>
local debounce = {}

--- Returns the number of calls that are held.
---@param client vim.lsp.Client
---@return integer
function M.count(client)
  return #vim.tbl_filter(function(pause)
    return pause.state == 'held'
  end, held[client.id] or {})
end

---@param pause backstitch.Pause
---@return string
local function summary(pause)
  return ('%s %s'):format(pause.id, words.line(pause.summary))
end

---@param pause backstitch.Pause
---@return { pause: string, workspace: string }
local function about(pause)
  return { pause = pause.id, workspace = words.shown(pause.root) }
end

local function draw()
  if not view or not vim.api.nvim_buf_is_valid(view.list) then
    return
  end
  local lines = {} ---@type backstitch.Chunk[][]
  for _, pause in ipairs(view.rows) do
    local is_held = pause.state == 'held'
    table.insert(lines, {
      { is_held and '⏸ ' or '… ', is_held and 'BackstitchWarning' or 'BackstitchDim' },
      { pause.id .. ' ', 'BackstitchTurn' },
      { words.line(pause.summary), 'BackstitchPrompt' },
      { ('  %s  %s'):format(pause.agent, words.line(pause.why)), 'BackstitchDim' },
    })
  end
  if #lines == 0 then
    lines = { { { 'No call is held.', 'BackstitchDim' } } }
  end
  float.write(view.list, namespace, lines)
end

---@param client vim.lsp.Client
local function read(client)
  task.run(function()
    local found = server.request(client, 'backstitch/pauses', { workspace = server.root_of(client) })
    held[client.id] = found.pauses
    if view and view.client == client.id then
      view.rows = found.pauses
      draw()
    end
    vim.cmd.redrawstatus()
  end, function() end) -- a workspace without a history has none
end

---@param client vim.lsp.Client
local function schedule_read(client)
  debounce[client.id] = debounce[client.id] or assert(vim.uv.new_timer())
  debounce[client.id]:start(
    DELAY,
    0,
    vim.schedule_wrap(function()
      if not client:is_stopped() then
        read(client)
      end
    end)
  )
end

--- Returns the call of the cursor's row, or the one whose files are shown.
---@return backstitch.Pause?
local function current()
  if not view then
    return nil
  end
  if vim.api.nvim_get_current_buf() == view.list then
    return view.rows[vim.api.nvim_win_get_cursor(0)[1]]
  end
  for _, pause in ipairs(view.rows) do
    if pause.id == view.shown then
      return pause
    end
  end
end

--- Returns the call that a command is about: the named one, that of the view, the only one, or the one that the user chooses.
---@async
---@param client vim.lsp.Client
---@param name? string
---@return backstitch.Pause
local function pick(client, name)
  ---@type backstitch.PausesResult
  local found = server.request(client, 'backstitch/pauses', { workspace = server.root_of(client) })
  local here = current()
  local wanted = name or (here and here.id)
  for _, pause in ipairs(found.pauses) do
    if pause.id == wanted then
      return pause
    end
  end
  if wanted then
    task.fail({ message = ('%s is not held any more'):format(wanted), hint = ':Backstitch pauses lists held calls' })
  end
  if #found.pauses == 0 then
    task.fail({ message = 'no call is held', hint = ':Backstitch pause holds the next one' })
  end
  if #found.pauses == 1 then
    return found.pauses[1]
  end
  return task.select(found.pauses, { prompt = 'Which held call?', format_item = summary })
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

--- Shows the call stack of a paused program.
---@async
---@param client vim.lsp.Client
---@param name? string
function M.stack(client, name)
  require('backstitch.programs').stack(client, pick(client, name))
end

---@param text string
local function say(text)
  require('backstitch.notice').say('backstitch: ' .. text)
end

--- Wipes the buffers of the call that is shown.
local function wipe()
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.startswith(vim.api.nvim_buf_get_name(buf), 'backstitch-held://') then
      vim.api.nvim_buf_delete(buf, { force = true })
    end
  end
end

---@param buf integer
---@param text string
local function set_text(buf, text)
  local lines = vim.split(text, '\n', { plain = true })
  local has_end = lines[#lines] == ''
  if has_end and #lines > 1 then
    table.remove(lines)
  end
  local is_modifiable = vim.bo[buf].modifiable
  vim.bo[buf].modifiable = true
  vim.bo[buf].endofline, vim.bo[buf].fixendofline = has_end, false
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modified = false
  vim.bo[buf].modifiable = is_modifiable
end

---@param buf integer
---@return string
local function text_of(buf)
  local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\n')
  return vim.bo[buf].endofline and text .. '\n' or text
end

--- Predicts the call with the changed text of a buffer, and remembers it. Called by a write.
---@param pause backstitch.Pause
---@param buf integer
---@param path? string The predicted file; without it the buffer is the input.
local function predict(pause, buf, path)
  task.run(function()
    local client = assert(view and vim.lsp.get_client_by_id(view.client))
    local params = about(pause) ---@type table<string, any>
    local text = text_of(buf)
    if path then
      params['then'] = { { path = path, text = text } }
    else
      params.inputText = text
    end
    ---@type backstitch.PredictResult
    local found = server.request(client, 'backstitch/predict', params)
    if not view or view.shown ~= pause.id then
      return
    end
    view.changed = { inputText = found.inputText, fingerprint = found.fingerprint }
    vim.bo[buf].modified = false
    for _, other in ipairs(vim.api.nvim_list_bufs()) do
      local name = vim.api.nvim_buf_get_name(other)
      for _, file in ipairs(found.predicted) do
        local own = ('backstitch-held://%s/then/%s'):format(pause.id, words.shown(file.path))
        if other ~= buf and name == own then
          set_text(other, words.given(file['then']) or '')
        end
      end
    end
    say(('%s goes on with this text, once you continue'):format(pause.id))
  end)
end

---@param pause backstitch.Pause
---@param kind 'now'|'then'|'input'
---@param path string
---@param text string
---@return integer buf
local function buffer(pause, kind, path, text)
  local buf = vim.api.nvim_create_buf(false, false)
  vim.api.nvim_buf_set_name(buf, ('backstitch-held://%s/%s/%s'):format(pause.id, kind, path))
  vim.bo[buf].swapfile = false
  vim.bo[buf].bufhidden = 'hide'
  if kind == 'now' then
    vim.bo[buf].buftype = 'nofile'
  else
    vim.bo[buf].buftype = 'acwrite'
    vim.api.nvim_create_autocmd('BufWriteCmd', {
      buffer = buf,
      callback = function()
        predict(pause, buf, kind == 'then' and path or nil)
      end,
    })
  end
  set_text(buf, text)
  vim.bo[buf].modifiable = kind ~= 'now'
  local filetype = kind == 'input' and 'json' or vim.filetype.match({ filename = path, buf = buf })
  if filetype then
    vim.bo[buf].filetype = filetype
  end
  M.map(buf)
  return buf
end

--- Shows the files of a call below the list: as they are now, and as they would be.
---@async
---@param client vim.lsp.Client
---@param pause backstitch.Pause
local function show(client, pause)
  ---@type backstitch.PauseDetails
  local details = server.request(client, 'backstitch/pause', about(pause))
  if not view or not vim.api.nvim_tabpage_is_valid(view.tab) then
    return
  end
  local list = vim.fn.win_findbuf(view.list)[1]
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(view.tab)) do
    if window ~= list then
      vim.api.nvim_win_close(window, true)
    end
  end
  wipe()
  view.shown, view.changed = pause.id, nil
  vim.api.nvim_set_current_win(list)
  ---@param side 'belowright'|'rightbelow'
  local function split(side, is_vertical, buf)
    vim.cmd.split({ mods = { split = side, vertical = is_vertical } })
    vim.api.nvim_win_set_buf(0, buf)
    vim.wo.winbar = outside.status(('%s  %s  %s'):format(summary(pause), pause.agent, words.line(pause.why)))
    return vim.api.nvim_get_current_win()
  end
  local file
  for _, each in ipairs(details.predicted) do
    local is_text = words.given(each.now) or words.given(each['then'])
    file = file or (is_text and each)
  end
  if not file then
    split('belowright', false, buffer(pause, 'input', 'input.json', details.inputText .. '\n'))
  else
    local path = words.shown(file.path)
    local now = buffer(pause, 'now', path, words.given(file.now) or '')
    local after = buffer(pause, 'then', path, words.given(file['then']) or '')
    split('belowright', false, now)
    vim.cmd.diffthis()
    split('rightbelow', true, after)
    vim.cmd.diffthis()
    local why = words.given(file.why)
    if why then
      say(('%s: %s'):format(file.fails and 'the call will fail' or 'not sure', why))
    end
  end
  vim.api.nvim_set_current_win(list)
  vim.api.nvim_win_set_height(list, math.max(3, math.min(#view.rows + 1, 8)))
end
--- Stores a decision.
---@async
---@param client vim.lsp.Client
---@param command string
---@param pause backstitch.Pause
---@param more? table<string, any>
local function decide(client, command, pause, more)
  local arguments = vim.tbl_extend('force', about(pause), more or {})
  ---@type backstitch.DecisionResult
  local done = server.execute(client, 'backstitch.' .. command, arguments)
  say(('%s: %s'):format(summary(pause), done.outcome))
  if view and view.shown == pause.id then
    wipe()
    view.shown, view.changed = nil, nil
  end
  schedule_read(client)
end

--- Lets a call go on, with the changes that were written.
---@async
---@param client vim.lsp.Client
---@param name? string
function M.resume(client, name)
  local pause = pick(client, name)
  local changed = view and view.shown == pause.id and view.changed or nil
  decide(client, 'resume', pause, changed)
end

---@async
---@param client vim.lsp.Client
---@param how string
---@param name? string
function M.step(client, how, name)
  decide(client, 'step', pick(client, name), { how = how })
end

--- Skips a call. Asks for the result that a program's call has instead.
---@async
---@param client vim.lsp.Client
---@param name? string
function M.skip(client, name)
  local pause = pick(client, name)
  local value
  if vim.list_contains(pause.can, 'replace') then
    value = task.await(function(back)
      local prompt = ('Result of %s, as an expression; may be empty: '):format(summary(pause))
      vim.ui.input({ prompt = prompt }, vim.schedule_wrap(back))
    end)
    if value == nil then
      error(task.CALLED_OFF, 0)
    end
  end
  decide(client, 'skip', pause, { value = value })
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
      vim.ui.input({ prompt = ('Reason for the model (%s): '):format(summary(pause)) }, vim.schedule_wrap(back))
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
  local here = current()
  local arguments = here and about(here) or { workspace = server.root_of(client) }
  server.execute(client, 'backstitch.inject', vim.tbl_extend('force', arguments, { text = text }))
  say('the text goes to the model with the next event that can carry it')
end

--- Shows the input of a call as JSON, to be changed.
---@async
---@param client vim.lsp.Client
local function input(client)
  local pause = pick(client)
  ---@type backstitch.PauseDetails
  local details = server.request(client, 'backstitch/pause', about(pause))
  local changed = view and view.changed and view.shown == pause.id and view.changed.inputText
  if view then
    view.shown = pause.id
  end
  local name = ('backstitch-held://%s/input/input.json'):format(pause.id)
  local known = vim.fn.bufnr(name)
  local text = (changed or details.inputText) .. '\n'
  local buf = known > 0 and known or buffer(pause, 'input', 'input.json', text)
  vim.cmd('belowright split')
  vim.api.nvim_win_set_buf(0, buf)
end

--- Keys of the view, with what they do.
---@type { key: string, desc: string, run: async fun(client: vim.lsp.Client) }[]
M.KEYS = {
  {
    key = 'c',
    desc = 'Continue: let the call go on, with the changes that you wrote.',
    run = function(client)
      M.resume(client)
    end,
  },
  {
    key = 'n',
    desc = 'Step over: go on, and stop at the next call of this thread.',
    run = function(client)
      M.step(client, 'over')
    end,
  },
  {
    key = 's',
    desc = 'Step into: go on, and stop at the next call of any thread.',
    run = function(client)
      M.step(client, 'into')
    end,
  },
  {
    key = 'o',
    desc = 'Step out: stop at the next call of the main thread, or of another turn.',
    run = function(client)
      M.step(client, 'out')
    end,
  },
  {
    key = 'd',
    desc = 'Deny, with a reason for the model.',
    run = function(client)
      M.refuse(client, 'deny')
    end,
  },
  {
    key = 'k',
    desc = 'Skip: the call does not run, and the agent goes on without it.',
    run = function(client)
      M.skip(client)
    end,
  },
  { key = 'e', desc = 'Edit the input as JSON; |:w| predicts anew.', run = input },
  {
    key = 'i',
    desc = 'Tell the model something.',
    run = function(client)
      M.inject(client)
    end,
  },
  {
    key = 'b',
    desc = "Take the session's last step out, and deny.",
    run = function(client)
      M.back(client)
    end,
  },
  {
    key = 'x',
    desc = 'Deny, and stop the turn.',
    run = function(client)
      M.refuse(client, 'stop')
    end,
  },
  {
    key = 'r',
    desc = 'Read the list anew.',
    run = function(client)
      schedule_read(client)
    end,
  },
}

--- Maps the keys in the list. A file that can be edited has them behind |<LocalLeader>|.
---@param buf integer
function M.map(buf)
  local is_list = view ~= nil and buf == view.list
  for _, each in ipairs(M.KEYS) do
    local key = (is_list or not vim.bo[buf].modifiable) and each.key or '<LocalLeader>' .. each.key
    vim.keymap.set('n', key, function()
      local client = view and vim.lsp.get_client_by_id(view.client)
      if client then
        task.run(function()
          each.run(client)
        end)
      end
    end, { buffer = buf, nowait = true, desc = each.desc })
  end
  vim.keymap.set('n', 'g?', function()
    local lines = vim.tbl_map(function(each)
      return { { ('%-4s'):format(each.key), 'BackstitchKey' }, { each.desc } }
    end, M.KEYS)
    float.open({ title = 'Held calls', lines = lines, keys = {} })
  end, { buffer = buf, desc = 'List these keys' })
end

--- Opens the list in a tab, with the files of the first call.
---@async
---@param client vim.lsp.Client
function M.open(client)
  ---@type backstitch.PausesResult
  local found = server.request(client, 'backstitch/pauses', { workspace = server.root_of(client) })
  if view and vim.api.nvim_tabpage_is_valid(view.tab) then
    vim.api.nvim_set_current_tabpage(view.tab)
    view.rows = found.pauses
    draw()
  else
    vim.cmd('tab split')
    local list = vim.api.nvim_create_buf(false, true)
    view = {
      list = list,
      tab = vim.api.nvim_get_current_tabpage(),
      client = client.id,
      workspace = server.root_of(client) or '',
      rows = found.pauses,
    }
    vim.api.nvim_win_set_buf(0, list)
    vim.api.nvim_buf_set_name(list, LIST)
    vim.bo[list].bufhidden = 'wipe'
    vim.bo[list].filetype = 'backstitch-pauses'
    vim.wo.cursorline, vim.wo.wrap = true, false
    vim.wo.winbar = 'Held calls   c continue  n step  d deny  e edit input  g? keys'
    draw()
    M.map(list)
    vim.keymap.set('n', '<CR>', function()
      local pause = current()
      if pause then
        task.run(function()
          show(client, pause)
        end)
      end
    end, { buffer = list, desc = 'Show the files of the call' })
    vim.keymap.set('n', 'q', function()
      wipe()
      vim.cmd.tabclose()
    end, { buffer = list, desc = 'Close' })
    vim.api.nvim_create_autocmd('BufWipeout', {
      buffer = list,
      callback = function()
        view = nil
        vim.schedule(wipe)
      end,
    })
  end
  if found.pauses[1] then
    show(client, found.pauses[1])
  end
end

---@param pattern string
---@param data table
local function announce(pattern, data)
  vim.api.nvim_exec_autocmds('User', { pattern = pattern, modeline = false, data = data })
end

function M.enable()
  server.on('backstitch/didPause', function(params, client)
    local pause = params.pause ---@type backstitch.Pause
    schedule_read(client)
    announce('BackstitchPause', params)
    local text = pause.by == 'program' and 'backstitch: a %s program stands still: %s (:Backstitch repl)'
      or 'backstitch: %s is held: %s (:Backstitch pauses)'
    require('backstitch.notice').say(text:format(pause.agent, words.line(pause.summary)), vim.log.levels.WARN)
    if config.get().pauses.open then
      task.run(function()
        M.open(client)
      end)
    end
  end)
  server.on('backstitch/didResume', function(params, client)
    schedule_read(client)
    if view and view.shown == params.pause.id then
      wipe()
      view.shown, view.changed = nil, nil
    end
    announce('BackstitchResume', params)
  end)
  server.on('attached', function(_, client)
    schedule_read(client)
  end)
  server.on('gone', function(_, client)
    held[client.id] = nil
    if debounce[client.id] then
      debounce[client.id]:close()
      debounce[client.id] = nil
    end
  end)
end

return M
