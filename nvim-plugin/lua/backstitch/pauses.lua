--- Held calls of agents: the list, the comparison of the files that a call would write, and the decisions. Nothing opens by
--- itself unless the option `pauses.open` says so, nothing takes the cursor, and a write decides nothing. A decision takes
--- along the text that the user has changed.
local config = require('backstitch.config')
local debounce = require('backstitch.debounce')
local files = require('backstitch.held_files')
local float = require('backstitch.float')
local server = require('backstitch.server')
local task = require('backstitch.task')
local words = require('backstitch.words')

local M = {}

--- Debounce delay in milliseconds.
local DELAY = 20
local LIST = 'backstitch-pauses://Held calls'

local namespace = vim.api.nvim_create_namespace('backstitch.pauses')

---@class backstitch.HeldView
---@field list integer Buffer of the list.
---@field tab integer
---@field own_tab boolean False: the list is a window of the user's tab page.
---@field client integer
---@field rows backstitch.Pause[]
---@field lines { pause: backstitch.Pause, path?: string }[] What each line of the list is about.
---@field shown? backstitch.HeldFiles The held call whose files are shown.
---@field last? backstitch.HeldFiles One that is decided, in whose windows the next call is shown.
---@field session? string The session whose next held call is shown by itself.

---@type backstitch.HeldView?
local view

--- Calls that are held, by client.
---@type table<integer, backstitch.Pause[]>
local held = {}

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

--- Returns the words about a held call that stand behind its summary: the agent, its session, the prompt and the reason.
---@param pause backstitch.Pause
---@return backstitch.Chunk[]
local function context(pause)
  local letter, prompt = words.given(pause.letter), words.given(pause.prompt)
  local chunks = { { '  ' .. words.line(pause.agent), 'BackstitchDim' } } ---@type backstitch.Chunk[]
  if letter then
    table.insert(chunks, { ' ' .. letter, words.session_group(letter) })
  end
  if prompt and words.line(prompt) ~= '' then
    table.insert(chunks, { (' “%s”'):format(words.line(prompt, 40)), 'BackstitchDim' })
  end
  table.insert(chunks, { '  ' .. words.line(pause.why), 'BackstitchDim' })
  return chunks
end

---@param pause backstitch.Pause
---@return boolean
local function is_proposal(pause)
  return vim.list_contains(pause.can, 'rewind')
end

--- Returns the lines below the row of the call that is shown: its error, the plan of a proposed rewind, its files.
---@param shown backstitch.HeldFiles
---@return { chunks: backstitch.Chunk[], path?: string }[]
local function details_of(shown)
  local details, lines = shown.details, {} ---@type backstitch.PauseDetails, { chunks: backstitch.Chunk[], path?: string }[]
  ---@param text string
  ---@param group? string
  local function add(text, group)
    table.insert(lines, { chunks = { { '     ' }, { words.line(text, 200), group } } })
  end
  local changed_by = words.given(details.pause.changedBy)
  if changed_by then
    add(('its input was changed in %s: that is shown, and runs'):format(changed_by), 'BackstitchWarning')
  end
  local failed, problem = words.given(details.pause.error), words.given(details.problem)
  if failed then
    add('error: ' .. failed, 'BackstitchWarning')
  end
  if problem then
    add('is refused: ' .. problem, 'BackstitchWarning')
  end
  local plan = words.given(details.plan)
  if plan then
    local reason = words.given(plan.reason)
    if reason then
      add('its reason: ' .. reason)
    end
    for _, sentence in ipairs(plan.summary) do
      add(sentence)
    end
    for _, turn in ipairs(plan.turns) do
      local prompt = words.given(turn.prompt)
      add(
        ('goes: %s %s'):format(
          words.given(turn.turn) or 'steps',
          prompt and ('“%s”'):format(words.line(prompt)) or ''
        )
      )
    end
    add('c rewinds, d denies', 'BackstitchKey')
  end
  local only = details.predicted[1]
  if #details.predicted == 1 and not plan and files.has_text(only) and not words.given(only.why) then
    return lines
  end
  for _, file in ipairs(details.predicted) do
    local path = words.shown(file.path)
    local added, removed = words.given(file.added), words.given(file.removed)
    local counts = files.has_text(file) and added and ('  +%d −%d'):format(added, removed or 0)
      or '  binary, or too large'
    local why = words.given(file.why)
    local mark = path == shown.path and ' ▸ ' or '   '
    local group = ({ A = 'BackstitchSignAdded', D = 'BackstitchSignRemoved' })[file.letter] or 'BackstitchSignChanged'
    local moved = words.given(file.movedFrom)
    local name = moved and ('%s → %s'):format(words.shown(moved), path) or path
    local chunks = { { mark, 'BackstitchKey' }, { file.letter .. ' ', group }, { words.line(name, 200) } }
    table.insert(chunks, { counts, 'BackstitchDim' })
    if why then
      table.insert(
        chunks,
        { ('  %s: %s'):format(file.fails and 'will fail' or 'not sure', words.line(why)), 'BackstitchWarning' }
      )
    end
    table.insert(lines, { chunks = chunks, path = path })
  end
  return lines
end

---@return integer?
local function list_window()
  return view and vim.fn.win_findbuf(view.list)[1]
end

local function draw()
  if not view or not vim.api.nvim_buf_is_valid(view.list) then
    return
  end
  local lines = {} ---@type backstitch.Chunk[][]
  view.lines = {}
  for _, pause in ipairs(view.rows) do
    local is_held = pause.state == 'held'
    local row = {
      { is_held and '⏸ ' or '… ', is_held and 'BackstitchWarning' or 'BackstitchDim' },
      { pause.id .. ' ', 'BackstitchTurn' },
      { words.line(pause.summary, 120), 'BackstitchPrompt' },
    }
    if not is_held then
      table.insert(row, { '  nobody answered in time: decided when it retries', 'BackstitchDim' })
    end
    table.insert(lines, vim.list_extend(row, context(pause)))
    table.insert(view.lines, { pause = pause })
    if view.shown and view.shown.pause == pause.id then
      for _, each in ipairs(details_of(view.shown)) do
        table.insert(lines, each.chunks)
        table.insert(view.lines, { pause = pause, path = each.path })
      end
    end
  end
  if #lines == 0 then
    lines = { { { 'No call is held.', 'BackstitchDim' } } }
  end
  float.write(view.list, namespace, lines)
  local window = list_window()
  -- without another window the height is that of the screen
  if window and view.shown and view.shown.right then
    vim.api.nvim_win_set_height(window, math.max(3, math.min(#lines + 1, 10)))
  end
end

local show_next, leave

---@param client vim.lsp.Client
local function read(client)
  task.run(function()
    local found = server.request(client, 'backstitch/pauses', { workspace = server.root_of(client) })
    held[client.id] = found.pauses
    require('backstitch.held_marks').show(client, found.pauses)
    if view and view.client == client.id then
      view.rows = found.pauses
      draw()
      show_next(client)
      leave()
    end
    vim.cmd.redrawstatus()
  end, function() end) -- a workspace without a history has none
end

local schedule_read = debounce.by_client(DELAY, read)

--- Returns the server of a view or of files. One that was restarted has another number.
---@param of { client: integer }
---@return vim.lsp.Client?
local function client_of(of)
  local client = vim.lsp.get_client_by_id(of.client)
  return client and not client:is_stopped() and client or server.find()
end

--- Returns the call of these files, if it is not decided.
---@param own backstitch.HeldFiles
---@return backstitch.Pause?
local function open_call(own)
  local client = client_of(own)
  return vim.iter(client and held[client.id] or {}):find(function(pause)
    return files.of(pause) == own
  end)
end

--- Returns the call of the cursor's row, or the one whose file the window shows, and the file of that row.
---@return backstitch.Pause?, string?
local function current()
  local buf = vim.api.nvim_get_current_buf()
  if view and buf == view.list then
    local line = view.lines[vim.api.nvim_win_get_cursor(0)[1]]
    return line and line.pause, line and line.path
  end
  local own = files.owner(buf)
  return own and open_call(own)
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

--- Shows the call stack of a paused program. A pause that is named may be over.
---@async
---@param client vim.lsp.Client
---@param name? string
function M.stack(client, name)
  local about_it = name and { pause = name, workspace = server.root_of(client) } or about(pick(client))
  ---@type backstitch.PausesResult
  local found = server.request(client, 'backstitch/pauses', { workspace = about_it.workspace })
  local pause = vim.iter(found.pauses):find(function(one)
    return one.id == about_it.pause
  end)
  require('backstitch.programs').stack(client, about_it, pause)
end

---@param text string
local function say(text)
  require('backstitch.notice').say('backstitch: ' .. text)
end

local show, map

--- Ends the display of the call that is shown, which is decided. Its windows stay for the next one.
---@param outcome string
local function finish(outcome)
  local shown = view and view.shown
  if not view or not shown then
    return
  end
  view.shown, view.last = nil, shown
  files.finish(shown, outcome)
  draw()
end

--- Stores the text of the user as the input with which the call runs, for all who see it. Called by a write.
---@param own backstitch.HeldFiles
local function store(own)
  local client, pause = client_of(own), open_call(own)
  if not client or not pause then
    return say('this call is no longer held: your text decides nothing')
  end
  task.run(function()
    if files.store(client, own, about(pause).workspace) then
      draw()
      local problem = words.given(own.details.problem)
      local said = problem and ('%s is refused with this text: %s'):format(pause.id, problem)
        or ('%s continues with this text, once you continue'):format(pause.id)
      say(said)
    end
  end)
end

--- Shows the files of a call below the list: as they are now, and as they would be. The cursor stays where it is.
---@async
---@param client vim.lsp.Client
---@param pause backstitch.Pause
---@param path? string
---@param only_held? boolean Nothing is shown of a call that was decided since its row was read.
function show(client, pause, path, only_held)
  ---@type backstitch.PauseDetails
  local details = server.request(client, 'backstitch/pause', about(pause))
  local list = list_window()
  if not view or not list or only_held and details.pause.state ~= 'held' then
    return
  end
  local before = view.shown or view.last
  if not view.shown or view.shown.pause ~= pause.id then
    if view.shown and files.is_changed(view.shown) then
      task.fail({
        message = ('%s has text that is not written'):format(view.shown.pause),
        hint = 'write it with :w, or undo it, before you go to another call',
      })
    end
    local kept = files.of(pause)
    view.shown, view.last = kept or files.new(client, details), nil
    if kept then
      -- its buffers have the names already, and may have text that is not written
      kept.client = client.id
      files.refresh(kept, details)
    end
    if before and before ~= kept then
      -- the same windows
      view.shown.left, view.shown.right = before.left, before.right
    end
  else
    files.refresh(view.shown, details)
  end
  local file = files.file(view.shown, path)
  files.show(view.shown, list, file, store, map)
  if before and before ~= view.shown then
    files.wipe(before, false)
  end
  draw()
end

--- Shows the next held call: of the session that was stepped, else the first one. Nothing is shown that the user did not ask
--- for: the view is open, and shows no call.
---@param client vim.lsp.Client
function show_next(client)
  if not view or view.shown then
    return
  end
  local next_one ---@type backstitch.Pause?
  for _, pause in ipairs(view.rows) do
    local is_next = pause.state == 'held'
      and (not next_one or pause.session == view.session and next_one.session ~= view.session)
    next_one = is_next and pause or next_one
  end
  if next_one then
    task.run(function()
      show(client, assert(next_one), nil, true)
    end)
  end
end

--- Returns the call that is to run. In the list it is the one whose files are shown: a call of another row is shown first.
---@async
---@param client vim.lsp.Client
---@param name? string
---@return backstitch.Pause
local function pick_shown(client, name)
  local pause = pick(client, name)
  local is_row = not name and view ~= nil and vim.api.nvim_get_current_buf() == view.list
  if is_row and view and (not view.shown or view.shown.pause ~= pause.id) and pause.by ~= 'program' then
    show(client, pause)
    task.fail({ message = ('%s was not shown yet: it is now'):format(pause.id), hint = 'press the key again' })
  end
  return pause
end

--- Ends the files of a call that is decided. Those that the view shows stay for the next call.
---@param own backstitch.HeldFiles
---@param outcome string
local function finish_files(own, outcome)
  if view and view.shown == own then
    finish(outcome)
  elseif not view or view.last ~= own then
    files.finish(own, outcome)
    files.wipe_hidden(own)
  end
end

--- Stores a decision. One that lets the call run takes along the text that the user has changed, and lets nothing run that
--- was not shown; before any other one the user is asked. The text counts also after its windows and the list were closed.
---@async
---@param client vim.lsp.Client
---@param command string
---@param pause backstitch.Pause
---@param more? table<string, any>
local function decide(client, command, pause, more)
  local arguments = vim.tbl_extend('force', about(pause), more or {})
  local own = files.of(pause)
  if own and vim.list_contains({ 'resume', 'step' }, command) then
    local is_stored = files.store(client, own, arguments.workspace)
    if is_stored then
      draw()
    end
    if is_stored or view and view.shown == own then
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
  say(('%s: %s'):format(summary(pause), done.outcome))
  if view then
    view.session = pause.session
  end
  if own then
    files.drop(own)
    finish_files(own, done.outcome)
  end
  schedule_read(client)
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
function M.step(client, how, force)
  decide(client, 'step', pick_shown(client), { how = how, force = force or nil })
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
  if not view or not list_window() then
    task.fail({ message = 'the list of held calls is closed', hint = ':Backstitch pauses opens it' })
  end
  if not view.shown or view.shown.pause ~= pause.id then
    show(client, pause)
  end
  local list = list_window()
  if view.shown and list then
    files.show(view.shown, list, nil, store, map)
    vim.api.nvim_set_current_win(assert(view.shown.right))
    draw()
  end
end

--- Shows the next or the previous file of the call.
---@param step 1|-1
local function go(step)
  local list = list_window()
  if view and view.shown and list then
    files.show(view.shown, list, files.next(view.shown, step), store, map)
    draw()
  end
end

--- Keys of the view, with what they do.
---@type { key: string, desc: string, run: async fun(client: vim.lsp.Client) }[]
M.KEYS = {
  {
    key = 'c',
    desc = 'Continue: let the call run, with your changes. For a proposed rewind: rewind.',
    run = function(client)
      M.resume(client)
    end,
  },
  {
    key = 'n',
    desc = 'Step over: continue, and stop at the next call of this thread.',
    run = function(client)
      M.step(client, 'over')
    end,
  },
  {
    key = 's',
    desc = 'Step into: continue, and stop at the next call of any thread.',
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
    desc = 'Skip: the call does not run, and the agent continues without it.',
    run = function(client)
      M.skip(client)
    end,
  },
  { key = 'e', desc = 'Edit the input as JSON; |:w| checks it.', run = input },
  {
    key = '<Tab>',
    desc = 'Show the next file of the call.',
    run = function()
      go(1)
    end,
  },
  {
    key = '<S-Tab>',
    desc = 'Show the previous file.',
    run = function()
      go(-1)
    end,
  },
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
function map(buf)
  local is_list = view ~= nil and buf == view.list
  for _, each in ipairs(M.KEYS) do
    local key = (is_list or not vim.bo[buf].modifiable) and each.key or '<LocalLeader>' .. each.key
    vim.keymap.set('n', key, function()
      local of = files.owner(buf) or view
      local client = of and client_of(of)
      if client then
        task.run(function()
          each.run(client)
        end)
      end
    end, { buffer = buf, nowait = true, desc = each.desc })
  end
  vim.keymap.set('n', 'g?', function()
    local lines = vim.tbl_map(function(each)
      return { { ('%-8s'):format(each.key), 'BackstitchKey' }, { (each.desc:gsub('|', '')) } }
    end, M.KEYS)
    float.open({ title = 'Held calls', lines = lines, keys = {}, footer = 'q close' })
  end, { buffer = buf, desc = 'List these keys' })
end

--- Closes the view. Text that is not written is asked about.
local function close()
  local shown = view and view.shown
  if not view then
    return
  end
  task.run(function()
    if shown and files.is_changed(shown) then
      local drop = 'Drop the text, and close'
      local chosen = task.select({ drop, 'Keep editing' }, {
        prompt = ('%s has text of yours that is not written:'):format(shown.pause),
      })
      if chosen ~= drop then
        return
      end
    end
    local is_own, list = view.own_tab, list_window()
    for _, each in pairs({ shown, view.last }) do
      files.close(each)
      files.wipe(each, true)
    end
    view.shown, view.last = nil, nil
    if is_own and #vim.api.nvim_list_tabpages() > 1 then
      vim.cmd.tabclose()
    elseif list then
      vim.api.nvim_set_current_win(list)
      float.leave()
    end
  end)
end

--- Closes a view that opened by itself, once no call is held and the cursor is elsewhere.
function leave()
  if not view or view.own_tab or #view.rows > 0 then
    return
  end
  local here = vim.api.nvim_get_current_buf()
  if here == view.list or files.is_own(here) or (view.last and files.is_changed(view.last)) then
    return
  end
  local list, last = list_window(), view.last
  if last then
    files.close(last)
    files.wipe(last, true)
  end
  view.last = nil
  if list then
    vim.api.nvim_win_close(list, true)
  end
end

--- Makes the buffer of the list.
---@param client vim.lsp.Client
---@return integer
local function new_list(client)
  local list = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(list, LIST)
  vim.bo[list].bufhidden = 'wipe'
  vim.bo[list].filetype = 'backstitch-pauses'
  vim.keymap.set('n', '<CR>', function()
    local pause, path = current()
    if pause then
      task.run(function()
        show(client, pause, path)
      end)
    end
  end, { buffer = list, desc = 'Show the files of the call, or this file' })
  vim.keymap.set('n', 'q', close, { buffer = list, desc = 'Close' })
  vim.api.nvim_create_autocmd('BufWipeout', {
    buffer = list,
    callback = function()
      if not view or view.list ~= list then
        return
      end
      local all = { view.shown, view.last }
      view = nil
      vim.schedule(function()
        for _, own in pairs(all) do
          if not files.wipe(own, false) and open_call(own) then
            local kept = '%s keeps your unwritten text: it runs once you continue, :Backstitch pauses shows it'
            say(kept:format(own.pause))
          end
        end
      end)
    end,
  })
  return list
end

--- Opens the list in a tab, with the files of the first call. `is_quiet`: below the windows of this tab, and the cursor stays.
---@async
---@param client vim.lsp.Client
---@param is_quiet? boolean
function M.open(client, is_quiet)
  ---@type backstitch.PausesResult
  local found = server.request(client, 'backstitch/pauses', { workspace = server.root_of(client) })
  held[client.id] = found.pauses
  if view and list_window() then
    if not is_quiet then
      vim.api.nvim_set_current_win(assert(list_window()))
    end
    view.rows = found.pauses
    draw()
  else
    local list = new_list(client)
    if is_quiet then
      vim.api.nvim_open_win(list, false, { split = 'below', win = -1, height = 4 })
    else
      vim.cmd('tab split')
      vim.api.nvim_win_set_buf(0, list)
    end
    view = {
      list = list,
      tab = vim.api.nvim_get_current_tabpage(),
      own_tab = not is_quiet,
      client = client.id,
      rows = found.pauses,
      lines = {},
    }
    local window = assert(list_window())
    vim.wo[window].cursorline, vim.wo[window].wrap = true, false
    vim.wo[window].winbar = 'Held calls   c continue  n step  d deny  e edit input  <Tab> next file  g? keys'
    draw()
    map(list)
  end
  show_next(client)
end

---@param pattern string
---@param data table
local function announce(pattern, data)
  vim.api.nvim_exec_autocmds('User', { pattern = pattern, modeline = false, data = data })
end

--- Time after which a call that is still held is reported again, once the user is idle, in milliseconds.
local REMIND = 30000
---@type table<integer, integer> Time of the last message, by client.
local reminded = {}

--- Tells of a call that is held, once the user has stopped typing.
---@param client vim.lsp.Client
---@param pause backstitch.Pause
local function tell(client, pause)
  local notice = require('backstitch.notice')
  notice.after_typing(function()
    local is_held = vim.iter(held[client.id] or { pause }):any(function(one)
      return one.id == pause.id and one.state == 'held'
    end)
    if not is_held then
      return
    end
    reminded[client.id] = vim.uv.now()
    local text = pause.by == 'program' and 'backstitch: a %s program is paused: %s (:Backstitch repl)'
      or 'backstitch: %s is held: %s (:Backstitch pauses)'
    notice.say(text:format(pause.agent, words.line(pause.summary)), vim.log.levels.WARN)
  end)
end

--- Tells of the first call that is held, if nobody looks at it.
local function remind()
  if view and vim.api.nvim_get_current_tabpage() == view.tab and list_window() then
    return
  end
  for id, pauses in pairs(held) do
    local client = vim.lsp.get_client_by_id(id)
    local first = vim.iter(pauses):find(function(pause)
      return pause.state == 'held'
    end)
    if client and first and vim.uv.now() - (reminded[id] or 0) >= REMIND then
      tell(client, first)
    end
  end
end

function M.enable()
  server.on('backstitch/didPause', function(params, client)
    local pause = params.pause ---@type backstitch.Pause
    held[client.id] = vim.list_extend({ pause }, held[client.id] or {})
    schedule_read(client)
    announce('BackstitchPause', params)
    tell(client, pause)
    if config.get().pauses.open then
      require('backstitch.notice').after_typing(function()
        task.run(function()
          M.open(client, true)
        end)
      end)
    end
  end)
  server.on('backstitch/didResume', function(params, client)
    held[client.id] = vim.tbl_filter(function(pause)
      return pause.id ~= params.pause.id
    end, held[client.id] or {})
    schedule_read(client)
    local own = files.of(params.pause)
    if own then
      local by = words.given(params.by)
      finish_files(own, ('%s%s'):format(params.outcome, by and ', ' .. by or ''))
      if files.is_changed(own) then
        say(('%s was decided on elsewhere: your unwritten text stays in its buffer'):format(own.pause))
      end
    end
    announce('BackstitchResume', params)
  end)
  server.on('backstitch/pauseChanged', function(params, client)
    schedule_read(client)
    local own = files.of(params.pause)
    if not own then
      return
    end
    task.run(function()
      local details = server.request(client, 'backstitch/pause', about(params.pause))
      if files.of(params.pause) == own then
        if files.is_changed(own) and own.details.fingerprint ~= details.fingerprint then
          say(('the input of %s was changed elsewhere: your unwritten text stays'):format(own.pause))
        end
        files.refresh(own, details)
        draw()
      end
    end, function() end) -- it is decided by now
  end)
  server.on('attached', function(_, client)
    schedule_read(client)
  end)
  server.on('gone', function(_, client)
    held[client.id] = nil
    require('backstitch.held_marks').forget(client)
  end)
  local group = vim.api.nvim_create_augroup('backstitch.pauses', {})
  vim.api.nvim_create_autocmd('CursorHold', { group = group, callback = remind })
  vim.api.nvim_create_autocmd('LspAttach', {
    group = group,
    callback = function(event)
      local client = vim.lsp.get_client_by_id(event.data.client_id)
      if client and client.name == 'backstitch' then
        schedule_read(client)
      end
    end,
  })
end

return M
