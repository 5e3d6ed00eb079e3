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
---@param plan backstitch.AnyPlan
---@param most? integer Number of files to list; the others are counted.
---@return backstitch.Chunk[][]
function M.lines(plan, most)
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
  local lines = { { { ' ' .. words.summary(plan) } } }
  for _, sentence in ipairs(plan.summary or {}) do
    table.insert(lines, { { ' ' .. sentence } })
  end
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

--- Returns all changes of a plan as one diff.
---@param plan backstitch.PlanResult
---@return string[]
function M.diff(plan)
  ---@diagnostic disable-next-line: deprecated
  local diff = vim.text and vim.text.diff or vim.diff
  local lines = {}
  for _, text in ipairs(plan.texts or {}) do
    local path = words.shown(text.path)
    local now, later = words.given(text.now), words.given(text['then'])
    vim.list_extend(lines, {
      '--- ' .. (now and words.shown(text.from or path) or '/dev/null'),
      '+++ ' .. (later and path or '/dev/null'),
    })
    local hunks = diff(now or '', later or '', { ctxlen = 3 }) --[[@as string]]
    vim.list_extend(lines, vim.split(vim.trim(hunks), '\n', { plain = true }))
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
  local most = math.max(3, vim.o.lines - 18 - #(plan.summary or {}) - #plan.conflicts - #plan.gaps)
  local is_long = #plan.actions > most
  local verb = (plan.title:match('^%S+') or 'restore'):lower()
  local decision = task.await(function(back)
    local function show()
      local lines = M.lines(plan, is_long and most or nil)
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
      if #(plan.texts or {}) > 0 then
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
        offer('f', 'list all files', 'files', function()
          local all = M.lines(plan)
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
