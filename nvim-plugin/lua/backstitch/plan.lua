--- Shows the plan of a restore before it runs, and returns the user's decision.
local float = require('backstitch.float')
local task = require('backstitch.task')
local words = require('backstitch.words')

local M = {}

---@class backstitch.Way Alternative to the plan.
---@field key string
---@field label string
---@field short string The label in one or two words.
---@field instead table Changed arguments of the plan.

---@class backstitch.Decision
---@field on_conflict? backstitch.OnConflict
---@field instead? table

---@param lines backstitch.Chunk[][]
---@param title string
---@param rows backstitch.Chunk[][]
local function section(lines, title, rows)
  if #rows == 0 then
    return
  end
  table.insert(lines, { { '' } })
  table.insert(lines, { { ' ' .. title, 'BackstitchHeading' } })
  vim.list_extend(lines, rows)
end

--- Turns of a plan that are listed unless the user asks for all.
local MAX_TURNS = 5

--- Returns the sentence that a plan begins with: whose work it moves, then files and conflicts. Pure.
---@param plan backstitch.PlanResult
---@return string
function M.sentence(plan)
  return plan.sentence .. ' · ' .. words.summary(plan)
end

--- Returns the rows of the turns that a plan moves, if they are several. Pure.
---@param plan backstitch.AnyPlan
---@param is_short boolean
---@return backstitch.Chunk[][]
local function turn_rows(plan, is_short)
  local takes, rows = plan.takes or {}, {}
  if #takes < 2 then
    return rows
  end
  local most = is_short and #takes > MAX_TURNS + 1 and MAX_TURNS or #takes
  for i = 1, most do
    local turn = assert(takes[i])
    local prompt = words.line(words.given(turn.prompt) or '', 60)
    table.insert(rows, {
      { '   ' .. (prompt ~= '' and ('“%s”'):format(prompt) or 'work without a prompt') },
      {
        ('  %s%s'):format(words.given(turn.turn) or turn.checkpoint, turn.part and ', in part' or ''),
        'BackstitchDim',
      },
    })
  end
  if most < #takes then
    table.insert(rows, { { ('   … %d more'):format(#takes - most), 'BackstitchDim' } })
  end
  return rows
end

local LETTERS = { A = 'BackstitchAdded', D = 'BackstitchRemoved' }

--- Returns the row of a changed file: letter, path, lines, and a note. Pure.
---@param action backstitch.Action
---@param path string padded
---@return backstitch.Chunk[]
local function file_row(action, path)
  local letter, added = words.given(action.letter), words.given(action.added)
  local notes = {}
  if action.action == 'merge' then
    table.insert(notes, 'merged with your edits')
  elseif action.from then
    table.insert(notes, 'renamed from ' .. words.shown(action.from))
  elseif not letter then
    table.insert(notes, words.action(action))
  end
  if action.unsaved then
    table.insert(notes, 'not saved in ' .. action.unsaved)
  end
  if action.reason then
    table.insert(notes, action.reason)
  end
  local row = { { '   ' .. (letter or ' ') .. '  ', LETTERS[letter] or 'BackstitchDim' }, { path } }
  if added then
    local counts = ('+%d −%d'):format(added, action.removed)
    table.insert(row, { counts .. (' '):rep(math.max(0, 8 - vim.fn.strdisplaywidth(counts))) .. '  ', 'BackstitchDim' })
  end
  table.insert(row, { table.concat(notes, ', '), 'BackstitchDim' })
  return row
end

--- Returns the lines that show a plan. Pure.
---@param plan backstitch.PlanResult
---@param columns integer Width of a sentence.
---@param most? integer Number of files to list; the others are counted.
---@return backstitch.Chunk[][]
function M.lines(plan, columns, most)
  local conflicting, widest = {}, 0
  for _, conflict in ipairs(plan.conflicts) do
    conflicting[words.shown(conflict.path)] = conflict
  end
  for _, action in ipairs(plan.actions) do
    widest = math.max(widest, vim.fn.strdisplaywidth(words.shown(action.path)))
  end
  local function padded(text)
    return text .. (' '):rep(math.max(0, widest - vim.fn.strdisplaywidth(text)) + 2)
  end
  local lines = {}
  for _, each in ipairs(vim.list_extend({ M.sentence(plan) }, plan.summary)) do
    for i, line in ipairs(words.wrapped(each, columns)) do
      table.insert(lines, { { (i == 1 and ' ' or '   ') .. line } })
    end
  end
  section(lines, plan.brings_back and 'Turns that come back' or 'Turns that go', turn_rows(plan, most ~= nil))
  local files, left, conflicts = {}, {}, {}
  for _, action in ipairs(plan.actions) do
    local path = words.shown(action.path)
    if conflicting[path] then
      -- listed below
    elseif action.action == 'skip' then
      table.insert(left, { { '   ' .. padded(path) }, { action.reason or '', 'BackstitchDim' } })
    else
      table.insert(files, file_row(action, padded(path)))
    end
  end
  for path, conflict in vim.spairs(conflicting) do
    table.insert(conflicts, { { '   ' .. padded(path) }, { conflict.reason, 'BackstitchWarning' } })
  end
  if most and #files > most then
    local more = #files - most
    files = vim.list_slice(files, 1, most)
    table.insert(files, { { ('   … %d more'):format(more), 'BackstitchDim' } })
  end
  section(lines, 'Conflicts with your edits', conflicts)
  section(lines, 'Files', files)
  section(lines, 'Unchanged', left)
  section(
    lines,
    'Your edits that stay behind',
    vim.tbl_map(function(path)
      return { { '   ' .. words.shown(path) } }
    end, plan.uncarried or {})
  )
  section(
    lines,
    'Cannot be restored',
    vim.tbl_map(function(gap)
      return { { '   ' .. words.gap(gap), 'BackstitchWarning' } }
    end, plan.gaps)
  )
  return lines
end

--- The line of a file that has no lines to show.
---@param action backstitch.Action
---@return string
local function without_lines(action)
  local from, path = words.given(action.from), words.shown(action.path)
  local added, removed = words.given(action.added), words.given(action.removed)
  local why = 'empty'
  if action.action == 'chmod' then
    why = words.action(action)
  elseif not added or not removed then
    why = 'binary'
  elseif added + removed > 0 then
    why = 'too large to show'
  elseif from then
    why = 'only renamed'
  end
  local name = from and ('%s → %s'):format(words.shown(from), path) or path
  return ('%s %s: %s'):format(words.given(action.letter) or ' ', name, why)
end

--- Returns all changes of a plan as one diff. Files without lines, as binary ones, follow with the reason.
---@param plan backstitch.PlanResult
---@return string[]
function M.diff(plan)
  ---@diagnostic disable-next-line: deprecated
  local diff = vim.text and vim.text.diff or vim.diff
  local lines, has_hunks = {}, {}
  for _, text in ipairs(plan.texts or {}) do
    local path = words.shown(text.path)
    local now, later = words.given(text.now), words.given(text['then'])
    local hunks = diff(now or '', later or '', { ctxlen = 3 }) --[[@as string]]
    if hunks ~= '' then
      has_hunks[path] = true
      vim.list_extend(lines, {
        '--- ' .. (now and words.shown(text.from or path) or '/dev/null'),
        '+++ ' .. (later and path or '/dev/null'),
      })
      vim.list_extend(lines, vim.split(vim.trim(hunks), '\n', { plain = true }))
    end
  end
  for _, action in ipairs(words.done(plan)) do
    if not has_hunks[words.shown(action.path)] then
      table.insert(lines, without_lines(action))
    end
  end
  return lines
end

--- Returns the footer of a plan that does not fit into its float: the keys in short. Pure.
---@param keys { [1]: string, [2]: string }[] Keys with their short labels; the last one is always named.
---@param columns integer
---@return string
function M.footer(keys, columns)
  local all = vim.tbl_map(function(each)
    return each[1] .. ' ' .. each[2]
  end, keys)
  local last = table.remove(all)
  while #all > 0 and vim.fn.strdisplaywidth(table.concat(all, ' · ') .. ' · ' .. last) > columns do
    table.remove(all)
  end
  table.insert(all, last)
  return table.concat(all, ' · ')
end

--- Shows a plan and waits for the user's decision. Closing the float cancels the task.
---@async
---@param plan backstitch.PlanResult
---@param ways backstitch.Way[]
---@return backstitch.Decision
function M.decide(plan, ways)
  -- the keys must stay in sight
  local turns = #turn_rows(plan, true)
  local above = #(plan.summary or {}) + (turns > 0 and turns + 2 or 0)
  local most = math.max(3, vim.o.lines - 18 - above - #plan.conflicts - #plan.gaps)
  local is_long = #plan.actions > most or turns < #turn_rows(plan, false)
  local verb = (plan.title:match('^%S+') or 'restore'):lower()
  local decision = task.await(function(back)
    local function show()
      local columns = vim.o.columns - 10
      local lines = M.lines(plan, columns, is_long and most or nil)
      local keys, hints, shorts = {}, {}, {}
      local function offer(key, label, short, act)
        keys[key] = act
        table.insert(shorts, { key, short })
        table.insert(hints, { { ('   %-5s'):format(key), 'BackstitchKey' }, { label } })
      end
      local function decide(on_conflict)
        return function()
          back({ on_conflict = on_conflict })
        end
      end
      if #plan.conflicts == 0 then
        offer('<CR>', verb, verb, decide('fail'))
      else
        offer('m', verb .. ', with conflict markers', 'markers', decide('markers'))
        offer('c', verb .. ', and keep your lines in conflicts', 'keep yours', decide('current'))
        offer('o', verb .. ', and take the older lines in conflicts', 'take older', decide('target'))
      end
      if #(plan.texts or {}) + #words.done(plan) > 0 then
        offer('d', 'show all changes', 'changes', function()
          local diff = vim.tbl_map(function(line)
            return { { line } }
          end, M.diff(plan))
          float.open(
            { title = words.line(plan.title), lines = diff, keys = {}, filetype = 'diff', footer = 'q back' },
            show
          )
        end)
      end
      if is_long then
        offer('f', 'list all files and turns', 'files', function()
          local all = M.lines(plan, columns)
          float.open({ title = words.line(plan.title), lines = all, keys = {}, footer = 'q back' }, show)
        end)
      end
      for _, way in ipairs(ways) do
        offer(way.key, way.label, way.short, function()
          back({ instead = way.instead })
        end)
      end
      table.insert(hints, { { '   q    ', 'BackstitchKey' }, { 'change nothing' } })
      section(lines, 'Keys', hints)
      table.insert(shorts, { 'q', 'cancel' })
      float.open({
        title = words.line(plan.title, vim.o.columns - 8),
        lines = lines,
        keys = keys,
        footer = #lines > float.max_height() and M.footer(shorts, vim.o.columns - 8) or nil,
      }, function()
        back(nil)
      end)
    end
    show()
  end)
  if not decision then
    error(task.CALLED_OFF, 0)
  end
  return decision
end

return M
