--- Pickers for checkpoints, branches and sessions through `vim.ui.select`, with the changes as preview. Lists of checkpoints have
--- their steps folded below the turns, and reach all of the history by words, by ids and by pages.
local model = require('backstitch.timeline.model')
local server = require('backstitch.server')
local task = require('backstitch.task')
local words = require('backstitch.words')

local M = {}

--- Time limit of a preview, in milliseconds.
local PREVIEW_TIMEOUT = 1000

--- Checkpoints of a page.
local LIMIT = 200

---@class backstitch.Choice A row of a list of checkpoints.
---@field text string
---@field checkpoint? backstitch.Checkpoint The one that is chosen, or whose changes are the preview.
---@field entry? backstitch.Entry The row unfolds it.
---@field act? 'search'|'older'|'back'

--- Returns the lines of a unified diff.
---@param diff backstitch.DiffResult
---@return string[]
function M.unified(diff)
  local lines = {}
  for _, file in ipairs(diff.files) do
    local path = words.shown(file.path)
    local from = file.from and words.shown(file.from) or path
    vim.list_extend(lines, {
      '--- ' .. (file.kind == 'create' and '/dev/null' or from),
      '+++ ' .. (file.kind == 'delete' and '/dev/null' or path),
    })
    if file.binary then
      table.insert(lines, 'binary')
    end
    for _, hunk in ipairs(file.hunks) do
      table.insert(lines, ('@@ -%d,%d +%d,%d @@'):format(hunk.old[1], hunk.old[2], hunk.new[1], hunk.new[2]))
      for _, line in ipairs(hunk.removed) do
        table.insert(lines, '-' .. words.shown(line))
      end
      for _, line in ipairs(hunk.added) do
        table.insert(lines, '+' .. words.shown(line))
      end
    end
  end
  return #lines > 0 and lines or { 'No differences.' }
end

--- Returns the range for `backstitch/diff` that a checkpoint changed.
---@param checkpoint backstitch.Checkpoint
---@return table?
function M.range(checkpoint)
  if checkpoint.kind == 'turn' then
    return nil
  end
  local parent = words.given(checkpoint.parent)
  return parent and { from = parent, to = checkpoint.id } or nil
end

--- Shows the changes of a checkpoint in a buffer that closes with its window, the form of a preview in Neovim 0.12. The
--- result is a list of lines, too, the form that older versions of mini.pick want.
---@param client vim.lsp.Client
---@param workspace string
---@param checkpoint? backstitch.Checkpoint Nil: the row has none.
---@param last { buf?: integer } The previous preview; its buffer is reused if it still exists.
---@return { buf: integer }
local function preview(client, workspace, checkpoint, last)
  local lines = { 'No preview.' }
  if checkpoint then
    local range = M.range(checkpoint) or { from = words.rev(checkpoint) }
    range.workspace = workspace
    local diff, wrong = server.request_now(client, 'backstitch/diff', range, PREVIEW_TIMEOUT)
    lines = diff and M.unified(diff) or { wrong or 'No preview.' }
  end
  local function buffer()
    if not last.buf or not vim.api.nvim_buf_is_valid(last.buf) then
      last.buf = vim.api.nvim_create_buf(false, true)
      vim.bo[last.buf].bufhidden = 'wipe'
      vim.bo[last.buf].filetype = 'diff'
    end
    vim.api.nvim_buf_set_lines(last.buf, 0, -1, false, lines)
    return last.buf
  end
  return setmetatable(lines, {
    __index = function(_, key)
      return key == 'buf' and buffer() or nil
    end,
  })
end

--- One row of a list of checkpoints: its name and age, and its id at the end.
---@param checkpoint backstitch.Checkpoint
---@param now integer
---@param changes? backstitch.Change[] Those of the checkpoint by default.
---@return string
function M.row(checkpoint, now, changes)
  return words.dotted({
    words.about(checkpoint),
    words.given(checkpoint.agent) or '',
    words.counts(changes or checkpoint.changes),
    table.concat(checkpoint.tags, ', '),
    words.ago(checkpoint.time, now),
    words.rev(checkpoint),
  })
end

--- Cells of the steps' names in a folded row.
local FOLDED = 60

---@param kinds? table<string, true> Kinds of checkpoints that can be chosen; all by default.
---@param checkpoint backstitch.Checkpoint
---@return boolean
local function is_wanted(kinds, checkpoint)
  return not kinds or kinds[checkpoint.kind] == true
end

--- Adds the rows of an entry: its own, and one that unfolds its steps, or these.
---@param rows backstitch.Choice[]
---@param entry backstitch.Entry
---@param kinds? table<string, true>
---@param now integer
---@param is_open? boolean
local function add_entry(rows, entry, kinds, now, is_open)
  local checkpoint, changes = entry.checkpoint, {}
  for _, each in ipairs(vim.list_extend({ checkpoint }, entry.steps)) do
    vim.list_extend(changes, each.changes)
  end
  if is_wanted(kinds, checkpoint) then
    table.insert(rows, { text = M.row(checkpoint, now, changes), checkpoint = checkpoint })
  end
  local inner = vim.tbl_filter(function(each)
    return is_wanted(kinds, each)
  end, entry.saves and vim.list_slice(entry.saves, 2) or entry.steps)
  -- the only step of a turn is the turn, unless it was searched for
  if #inner > ((entry.saves or is_open) and 0 or 1) then
    local names = vim.tbl_map(words.about, inner)
    local count = words.count(#inner, entry.saves and 'earlier edit' or 'step')
    local text = ('      ▸ %s: %s'):format(count, words.line(table.concat(names, ', '), FOLDED))
    table.insert(rows, not is_open and { text = text, checkpoint = checkpoint, entry = entry } or nil)
    for _, each in ipairs(is_open and inner or {}) do
      table.insert(rows, { text = '      ' .. M.row(each, now), checkpoint = each })
    end
  end
  for _, each in ipairs(entry.undone or {}) do
    add_entry(rows, each, kinds, now, is_open)
  end
end

--- Returns the rows of checkpoints. Pure.
---@param newest_first backstitch.Checkpoint[]
---@param kinds? table<string, true>
---@param now integer
---@param is_open? boolean The steps of each turn are not folded.
---@return backstitch.Choice[]
function M.rows(newest_first, kinds, now, is_open)
  local rows = {}
  for _, entry in ipairs(model.entries(newest_first)) do
    add_entry(rows, entry, kinds, now, is_open)
  end
  return rows
end

--- Asks for words or an id. Nil: for none.
---@async
---@return string?
local function ask_words()
  local typed = task.await(function(back)
    vim.ui.input({ prompt = 'Words of a prompt or a call, or an id: ' }, vim.schedule_wrap(back))
  end)
  typed = vim.trim(typed or '')
  return typed ~= '' and typed or nil
end

---@class backstitch.Found Checkpoints of a list: the newest, or those with words.
---@field where table<string, any> Parameters of the timeline.
---@field checkpoints backstitch.Checkpoint[]
---@field more boolean
---@field workspace string

--- Reads the next page of a list.
---@async
---@param client vim.lsp.Client
---@param found backstitch.Found
local function read_page(client, found)
  local last = found.checkpoints[#found.checkpoints]
  local params = vim.tbl_extend('force', { limit = LIMIT, before = last and last.id or nil }, found.where)
  local page = server.request(client, 'backstitch/timeline', params)
  vim.list_extend(found.checkpoints, page.checkpoints)
  found.more, found.workspace = page.more, words.shown(page.workspace)
end

--- Returns the checkpoint with this id, if it is one that can be chosen.
---@async
---@param client vim.lsp.Client
---@param where table workspace or uri
---@param typed string
---@return backstitch.Checkpoint?
local function exact(client, where, typed)
  if not typed:match('^[ct]%d+$') then
    return nil
  end
  local params = { workspace = where.workspace, uri = where.uri, rev = typed }
  local is_known, got = pcall(server.request, client, 'backstitch/checkpoint', params)
  local checkpoint = got --[[@as backstitch.Checkpoint]]
  return is_known and is_wanted(where.kinds, checkpoint) and checkpoint or nil
end

--- Shows the rows, and returns the chosen one.
---@async
---@param client vim.lsp.Client
---@param prompt string
---@param rows backstitch.Choice[]
---@param workspace string
---@return backstitch.Choice
local function choose(client, prompt, rows, workspace)
  local last = {}
  local ok, chosen = pcall(task.select, rows, {
    prompt = prompt,
    kind = 'backstitch.checkpoint',
    format_item = function(choice)
      return choice.text
    end,
    preview_item = function(choice)
      return preview(client, workspace, choice.checkpoint, last)
    end,
  })
  if last.buf and vim.api.nvim_buf_is_valid(last.buf) then
    vim.api.nvim_buf_delete(last.buf, { force = true })
  end
  if not ok then
    error(chosen, 0)
  end
  return chosen --[[@as backstitch.Choice]]
end

--- Returns the rows below a list.
---@param found backstitch.Found
---@return backstitch.Choice[]
local function further(found)
  local rows = {} ---@type backstitch.Choice[]
  if found.more then
    table.insert(rows, { text = 'Older checkpoints…', act = 'older' })
  end
  table.insert(rows, { text = 'Search all of the history…', act = 'search' })
  if found.where.text then
    table.insert(rows, { text = 'All checkpoints…', act = 'back' })
  end
  return rows
end

--- Asks for a checkpoint of the current branch. `where.text`: words that it has, or its id.
---@async
---@param client vim.lsp.Client
---@param prompt string
---@param where table workspace or uri; kinds: limits the rows; text
---@return backstitch.Checkpoint
function M.checkpoint(client, prompt, where)
  local at = { workspace = where.workspace, uri = where.uri }
  ---@async
  ---@param text? string
  ---@return backstitch.Found
  local function begin(text)
    local found =
      { where = vim.tbl_extend('force', at, { text = text }), checkpoints = {}, more = false, workspace = '' }
    read_page(client, found)
    return found
  end
  ---@async
  ---@param typed string
  ---@return backstitch.Found?, backstitch.Checkpoint?
  local function search(typed)
    local wanted = exact(client, where, typed)
    if wanted then
      return nil, wanted
    end
    local found = begin(typed)
    if #M.rows(found.checkpoints, where.kinds, os.time()) == 0 then
      task.fail({ message = ('no checkpoint has “%s”'):format(typed), hint = 'Words may end in `*`: `num*`' })
    end
    return found
  end
  local found, wanted ---@type backstitch.Found?, backstitch.Checkpoint?
  if where.text then
    found, wanted = search(where.text)
  else
    found = begin()
  end
  local open ---@type backstitch.Entry?
  while not wanted do
    local list, now = assert(found), os.time()
    local rows = {}
    if open then
      add_entry(rows, open, where.kinds, now, true)
      table.insert(rows, { text = 'All checkpoints…', act = 'back' })
    else
      rows = M.rows(list.checkpoints, where.kinds, now, list.where.text ~= nil)
      if #rows == 0 and not list.more then
        task.fail({ message = 'There are no checkpoints yet', hint = 'They appear once an agent works here' })
      end
      vim.list_extend(rows, further(list))
    end
    local of = list.where.text
    local title = of and ('%s (“%s”)'):format(prompt, words.line(of, 40)) or prompt
    local chosen = choose(client, title, rows, list.workspace)
    if chosen.act == 'older' then
      read_page(client, list)
    elseif chosen.act == 'search' then
      local typed = ask_words()
      if typed then
        found, wanted = search(typed)
      end
    elseif chosen.act == 'back' then
      found, open = open and found or begin(), nil
    elseif chosen.entry then
      open = chosen.entry
    else
      wanted = chosen.checkpoint
    end
  end
  return assert(wanted)
end

--- Asks for a branch other than the current one.
---@async
---@param client vim.lsp.Client
---@param prompt string
---@param where table
---@return string
function M.branch(client, prompt, where)
  local page = server.request(client, 'backstitch/timeline', vim.tbl_extend('force', where, { limit = 1 }))
  local others = vim.tbl_filter(function(branch)
    return not branch.current and not branch.deleted
  end, page.branches)
  if #others == 0 then
    task.fail({ message = 'There is no other branch', hint = ':Backstitch fork creates one' })
  end
  return task.select(others, {
    prompt = prompt,
    kind = 'backstitch.branch',
    format_item = function(branch)
      return words.dotted({ branch.name, words.ago(branch.created, os.time()) })
    end,
  }).name
end

--- Asks for a session of an agent.
---@async
---@param client vim.lsp.Client
---@param where table
---@return backstitch.AgentSession
function M.session(client, where)
  local all = server.request(client, 'backstitch/sessions', next(where) and where or vim.empty_dict()).sessions
  if #all == 0 then
    task.fail({ message = 'No agent has worked here yet' })
  end
  local now = os.time()
  return task.select(all, {
    prompt = 'Session',
    kind = 'backstitch.session',
    format_item = function(session)
      local newest = session.turns[1]
      local about = newest and ('“%s” · %s'):format(words.line(newest.prompt), words.ago(newest.time, now)) or ''
      local letter = #all > 1 and session.letter .. ' · ' or ''
      return ('%s%s · %s · %s'):format(letter, session.agent, words.count(#session.turns, 'turn'), about)
    end,
  })
end

return M
