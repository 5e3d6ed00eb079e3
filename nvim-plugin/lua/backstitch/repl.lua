--- REPLs at held calls: the transcript above, the input below it. A session that is closed has no input any longer.
local outside = require('backstitch.outside')
local server = require('backstitch.server')
local task = require('backstitch.task')
local words = require('backstitch.words')

local M = {}

local namespace = vim.api.nvim_create_namespace('backstitch.repl')
local NAME = 'backstitch-repl://'
--- Height of the input in lines.
local HEIGHT = 3

---@class backstitch.ReplView
---@field session string
---@field client integer
---@field transcript integer Buffer.
---@field input? integer Buffer; nil once the session is closed.
---@field shown table<integer, true> Numbers of the entries that are shown.
---@field history string[] Inputs, oldest first.
---@field at integer Place in the history; behind its end: the line that is typed.
---@field draft string
---@field values { first: integer, last: integer, cid: string }[] Lines of the transcript with the values that they show.
---@field pause string

--- Views by session.
---@type table<string, backstitch.ReplView>
local views = {}
--- The session that was opened last.
---@type string?
local newest

---@param view backstitch.ReplView
---@param text string
---@param group string
---@param mark? string In front of the first line.
---@return integer first, integer last Lines, from 1.
local function append(view, text, group, mark)
  local buf = view.transcript
  if not vim.api.nvim_buf_is_valid(buf) or text == '' then
    return 0, 0
  end
  local lines = vim.split((text:gsub('\n$', '')), '\n', { plain = true })
  for i, line in ipairs(lines) do
    lines[i] = (mark and (i == 1 and mark or '  ') or '') .. words.visible(line)
  end
  local count = vim.api.nvim_buf_line_count(buf)
  local is_empty = count == 1 and vim.api.nvim_buf_get_lines(buf, 0, 1, false)[1] == ''
  local first = is_empty and 0 or count
  vim.bo[buf].modifiable = true
  vim.api.nvim_buf_set_lines(buf, first, -1, false, lines)
  vim.bo[buf].modifiable = false
  for i = first, first + #lines - 1 do
    vim.api.nvim_buf_set_extmark(buf, namespace, i, 0, { line_hl_group = group })
  end
  for _, window in ipairs(vim.fn.win_findbuf(buf)) do
    vim.api.nvim_win_set_cursor(window, { vim.api.nvim_buf_line_count(buf), 0 })
  end
  return first + 1, first + #lines
end

---@param view backstitch.ReplView
---@param entry backstitch.ReplEntry
local function add(view, entry)
  if view.shown[entry.index] then
    return
  end
  view.shown[entry.index] = true
  -- one of another viewer; an own one is there already
  if not vim.list_contains(view.history, entry.input) then
    local is_typed = view.at > #view.history
    table.insert(view.history, entry.input)
    view.at = is_typed and #view.history + 1 or view.at
  end
  append(view, entry.input, 'BackstitchPrompt', '> ')
  append(view, entry.stdout, 'BackstitchDim')
  local shows_value = entry.shows ~= 'stdout' and entry.shows ~= 'nothing'
  local first, last = append(view, shows_value and entry.output or '', entry.isError and 'ErrorMsg' or 'Normal')
  local cid = words.given(entry.cid)
  if cid and last > 0 then
    table.insert(view.values, { first = first, last = last, cid = cid })
  end
end

--- Writes what a session is about above its transcript: function, reason, start and end.
---@param view backstitch.ReplView
---@param session backstitch.ReplSession
local function entitle(view, session)
  local closed, from = words.given(session.closed), words.clock(session.started)
  local parts = {
    words.line(session['function']),
    words.pause_reason(session),
    ('%s at %s'):format(session.language, session.pause),
    closed and ('%s to %s'):format(from, words.clock(closed, from:sub(1, 10))) or 'since ' .. from,
  }
  local title = words.dotted(parts)
  local keys = words.given(session.process) and '   K value  S stack  C calls' or ''
  for _, window in ipairs(vim.fn.win_findbuf(view.transcript)) do
    vim.wo[window].winbar = (' %s%%<%s'):format(outside.status(title), keys)
  end
end

---@param view backstitch.ReplView
---@param session backstitch.ReplSession
local function close(view, session)
  entitle(view, session)
  local reason = words.given(session.reason) or 'it was closed'
  append(view, ('-- closed: %s --'):format(reason), 'BackstitchDim')
  local input = view.input
  view.input = nil
  if input and vim.api.nvim_buf_is_valid(input) then
    vim.cmd.stopinsert()
    vim.api.nvim_buf_delete(input, { force = true })
  end
end

--- Evaluates an input in a session.
---@param view backstitch.ReplView
---@param text string
local function evaluate(view, text)
  table.insert(view.history, text)
  view.at = #view.history + 1
  task.run(function()
    local client = assert(vim.lsp.get_client_by_id(view.client), 'the server has ended')
    local params = { session = view.session, input = text, workspace = server.root_of(client) }
    ---@type backstitch.ReplEvalResult
    local done = server.request(client, 'backstitch/repl/eval', params)
    add(view, done.entry)
  end)
end

---@param view backstitch.ReplView
local function send(view)
  local input = view.input
  if not input then
    return
  end
  local text = table.concat(vim.api.nvim_buf_get_lines(input, 0, -1, false), '\n')
  if text:match('^%s*$') then
    return
  end
  vim.api.nvim_buf_set_lines(input, 0, -1, false, { '' })
  evaluate(view, text)
end

--- Returns true if a session is shown that takes inputs.
---@return boolean
function M.is_open()
  local view = newest and views[newest]
  return view ~= nil and view.input ~= nil
end

--- Evaluates an input in the session that was opened last.
---@param text string
function M.eval(text)
  evaluate(assert(newest and views[newest], 'no REPL is open'), text)
end

--- Takes an input of the history, at the edges of the text.
---@param view backstitch.ReplView
---@param by integer
local function recall(view, by)
  local input = view.input
  if not input then
    return
  end
  local at = view.at + by
  if at < 1 or at > #view.history + 1 then
    return
  end
  if view.at == #view.history + 1 then
    view.draft = table.concat(vim.api.nvim_buf_get_lines(input, 0, -1, false), '\n')
  end
  view.at = at
  local text = view.history[at] or view.draft
  local lines = vim.split(text, '\n', { plain = true })
  vim.api.nvim_buf_set_lines(input, 0, -1, false, lines)
  vim.api.nvim_win_set_cursor(0, { #lines, #lines[#lines] })
end

--- Maps the keys of debuggers, which decide on the held call of the REPL.
---@param view backstitch.ReplView
---@param buf integer
local function map_debugger(view, buf)
  for _, each in ipairs(require('backstitch.pauses').keys.KEYS) do
    for _, key in ipairs(each.debugger or {}) do
      vim.keymap.set({ 'n', 'i' }, key, function()
        task.run(function()
          each.run(assert(vim.lsp.get_client_by_id(view.client), 'the server has ended'), view.pause)
        end)
      end, { buffer = buf, desc = each.desc })
    end
  end
end

---@param view backstitch.ReplView
---@param language string
local function open_input(view, language)
  local buf = vim.api.nvim_create_buf(false, true)
  view.input = buf
  vim.bo[buf].bufhidden = 'wipe'
  vim.api.nvim_buf_set_name(buf, NAME .. view.session .. '/input')
  vim.cmd(('belowright %dsplit'):format(HEIGHT))
  vim.api.nvim_win_set_buf(0, buf)
  outside.name_window(0, 'REPL input')
  vim.wo.winfixheight = true
  vim.bo[buf].filetype = language
  for _, mode in ipairs({ 'n', 'i' }) do
    vim.keymap.set(mode, '<CR>', function()
      send(view)
    end, { buffer = buf, desc = 'Evaluate' })
  end
  for _, key in ipairs({ '<S-CR>', '<C-J>' }) do
    vim.keymap.set('i', key, '<CR>', { buffer = buf, desc = 'New line' })
  end
  for key, by in pairs({ ['<Up>'] = -1, ['<Down>'] = 1 }) do
    vim.keymap.set({ 'n', 'i' }, key, function()
      local row = vim.api.nvim_win_get_cursor(0)[1]
      local edge = by < 0 and 1 or vim.api.nvim_buf_line_count(buf)
      if row == edge then
        recall(view, by)
      else
        vim.cmd.normal({ by < 0 and 'gk' or 'gj', bang = true })
      end
    end, { buffer = buf, desc = 'Earlier or later input' })
  end
  map_debugger(view, buf)
  vim.keymap.set('n', 'q', function()
    M.leave(view.session)
  end, { buffer = buf, nowait = true, desc = 'Close' })
end

--- Closes the windows of a session. It stays open until its pause is over.
---@param session string
function M.leave(session)
  local view = views[session]
  if not view then
    return
  end
  views[session] = nil
  -- a closed session has no input, at which `ipairs` would stop
  for _, buf in pairs({ view.input, view.transcript }) do
    if buf and vim.api.nvim_buf_is_valid(buf) then
      vim.api.nvim_buf_delete(buf, { force = true })
    end
  end
end

--- Maps the keys of a transcript.
---@param client vim.lsp.Client
---@param view backstitch.ReplView
local function map_transcript(client, view)
  local function map(key, desc, act)
    vim.keymap.set('n', key, function()
      task.run(act)
    end, { buffer = view.transcript, nowait = true, desc = desc })
  end
  map('K', 'Show the value', function()
    local row = vim.api.nvim_win_get_cursor(0)[1]
    for _, value in ipairs(view.values) do
      if value.first <= row and row <= value.last then
        return require('backstitch.programs').value(client, value.cid)
      end
    end
    task.fail({ message = 'no stored value in this line' })
  end)
  map('S', 'Show the call stack', function()
    require('backstitch.pauses').stack(client, view.pause)
  end)
  map('C', 'Show the calls', function()
    require('backstitch.programs').calls(client)
  end)
  map_debugger(view, view.transcript)
end

--- Shows a session: its transcript, and the input unless it is closed.
---@async
---@param client vim.lsp.Client
---@param id string
function M.show(client, id)
  ---@type backstitch.ReplShowResult
  local found = server.request(client, 'backstitch/repl/show', { session = id, workspace = server.root_of(client) })
  M.leave(id)
  local buf = vim.api.nvim_create_buf(false, true)
  ---@type backstitch.ReplView
  local view = {
    session = id,
    client = client.id,
    transcript = buf,
    shown = {},
    history = {},
    at = 1,
    draft = '',
    values = {},
    pause = found.session.pause,
  }
  views[id] = view
  newest = id
  vim.bo[buf].modifiable = false
  vim.api.nvim_buf_set_name(buf, NAME .. id)
  vim.cmd('botright split')
  vim.api.nvim_win_set_buf(0, buf)
  outside.name_window(0, 'REPL')
  local session = found.session
  entitle(view, session)
  vim.keymap.set('n', 'q', function()
    M.leave(id)
  end, { buffer = buf, nowait = true, desc = 'Close' })
  map_transcript(client, view)
  for _, entry in ipairs(found.entries) do
    add(view, entry)
  end
  view.at = #view.history + 1
  if session.status == 'active' then
    open_input(view, session.language)
    vim.cmd.startinsert()
  else
    close(view, session)
  end
end

--- Opens a REPL at a held call: the one that is open, or a new one.
---@async
---@param client vim.lsp.Client
---@param pause string
function M.open(client, pause)
  local at = { pause = pause, status = 'active', workspace = server.root_of(client) }
  ---@type backstitch.ReplListResult
  local found = server.request(client, 'backstitch/repl/list', at)
  local there = found.sessions[1]
  if not there then
    local params = { pause = pause, workspace = server.root_of(client) }
    ---@type backstitch.ReplStartResult
    local started = server.request(client, 'backstitch/repl/start', params)
    there = started.session
  end
  M.show(client, there.id)
end

--- Begin of a day in the user's time zone, so many days later.
---@param day string
---@param later integer
---@return string
local function start_of(day, later)
  local year, month, date = day:match('^(%d%d%d%d)-(%d%d)-(%d%d)$')
  if not year then
    task.fail({ message = ("'%s' is not a date"):format(day), hint = 'a day is written as 2026-11-25' })
  end
  local time = os.time({ year = year, month = month, day = date + later, hour = 0 })
  return os.date('!%Y-%m-%dT%H:%M:%SZ', time) --[[@as string]]
end

--- Returns the row of a session: the prompt or the function, the reason, its lines, its age, and its id at the end.
---@param session backstitch.ReplSession
---@param now integer
---@return string
local function session_row(session, now)
  local prompt = words.line(words.given(session.prompt) or '', 40)
  local parts = {
    prompt ~= '' and ('“%s”'):format(prompt) or '',
    words.line(session['function']),
    words.pause_reason(session),
    words.count(session.entries, 'line'),
    session.status == 'active' and 'active' or words.ago(session.closed or session.started, now),
    session.id,
  }
  return words.dotted(parts)
end

--- Lists sessions, and shows the chosen one. Words such as `status:closed` and `from:2026-11-01` limit the list.
---@async
---@param client vim.lsp.Client
---@param search? string
function M.list(client, search)
  local params = { workspace = server.root_of(client) } ---@type table<string, any>
  local text = {}
  for word in (search or ''):gmatch('%S+') do
    local name, value = word:match('^(%l+):(.+)$')
    if name == 'status' then
      params.status = value
    elseif name == 'from' then
      params.from = start_of(value, 0)
    elseif name == 'to' then
      params.to = start_of(value, 1)
    else
      table.insert(text, word)
    end
  end
  params.search = #text > 0 and table.concat(text, ' ') or nil
  local older = {}
  while true do
    ---@type backstitch.ReplListResult
    local found = server.request(client, 'backstitch/repl/list', params)
    if #found.sessions == 0 then
      task.fail({ message = 'no REPL session', hint = ':Backstitch repl opens one at a held call' })
    end
    local rows = vim.list_extend({}, found.sessions)
    if found.more then
      table.insert(rows, older)
    end
    local chosen = task.select(rows, {
      prompt = 'REPL sessions:',
      kind = 'backstitch.repl',
      format_item = function(session)
        if session == older then
          return 'Older sessions…'
        end
        return session_row(session, os.time())
      end,
    })
    if chosen ~= older then
      return M.show(client, chosen.id)
    end
    params.before = found.sessions[#found.sessions].id
  end
end

function M.enable()
  server.on('backstitch/replOutput', function(params)
    local view = views[params.session.id]
    if view then
      add(view, params.entry)
    end
  end)
  server.on('backstitch/replChanged', function(params)
    local view = views[params.session.id]
    if view and params.session.status == 'closed' then
      close(view, params.session)
    end
  end)
end

return M
