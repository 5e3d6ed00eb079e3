--- Rows of the timeline: their tree and their texts. Pure.
local words = require('backstitch.words')

local M = {}

---@class backstitch.Page
---@field checkpoints backstitch.Checkpoint[]
---@field more boolean

---@class backstitch.Timeline Loaded data and fold state.
---@field branches backstitch.Branch[]
---@field current string The current branch.
---@field head? string
---@field is_loaded? boolean
---@field pages table<string, backstitch.Page> Keyed by branch.
---@field open table<string, boolean> Fold state by row id; rows without an entry have their default.
---@field filter? string The filter, for people.
---@field filter_key? string The key that clears it.

---@class backstitch.Detail Text at the right edge. Where there is no room, those of little weight go first.
---@field [1] string
---@field [2]? string highlight
---@field weight? integer

---@class backstitch.Row
---@field id string
---@field depth integer
---@field left backstitch.Chunk[]
---@field right backstitch.Detail[]
---@field is_open? boolean nil: the row has no children.
---@field branch? backstitch.Branch
---@field checkpoint? backstitch.Checkpoint
---@field steps? backstitch.Checkpoint[] of a turn
---@field saves? backstitch.Checkpoint[] Adjacent edits of the user, newest first.
---@field change? backstitch.Change
---@field more? string The branch that has older rows.

---@class backstitch.Entry
---@field checkpoint backstitch.Checkpoint
---@field steps backstitch.Checkpoint[]
---@field saves? backstitch.Checkpoint[]
---@field undone? backstitch.Entry[] What this operation undid.

--- Returns the row of a turn whose own checkpoint is not among the loaded ones, such as in the history of one file.
---@param step backstitch.Checkpoint
---@return backstitch.Checkpoint
local function turn_of(step)
  return vim.tbl_extend('force', step, {
    kind = 'turn',
    id = step.turn,
    label = vim.NIL,
    tool = vim.NIL,
    tags = {},
    pinned = false,
    changes = {},
    unsaved = {},
    coverage = { items = {} },
  })
end

--- True for the user's edits with nothing that would need its own row.
---@param entry backstitch.Entry
local function is_plain_save(entry)
  local checkpoint = entry.checkpoint
  return checkpoint.kind == 'external'
    and not words.given(checkpoint.label)
    and #checkpoint.tags == 0
    and not checkpoint.pinned
    and #checkpoint.coverage.items == 0
end

--- Merges adjacent edits of the user.
---@param entries backstitch.Entry[]
---@return backstitch.Entry[]
local function merge_saves(entries)
  local all = {}
  for _, entry in ipairs(entries) do
    local last = all[#all]
    if last and is_plain_save(last) and is_plain_save(entry) then
      last.saves = last.saves or { last.checkpoint }
      table.insert(last.saves, entry.checkpoint)
    else
      table.insert(all, entry)
    end
  end
  return all
end

--- Moves what an operation undid below its row: the turns of a rewind, the operation of an undo.
---@param entries backstitch.Entry[] newest first
---@return backstitch.Entry[]
local function fold_operations(entries)
  ---@type table<backstitch.Entry, true>
  local is_folded = {}
  -- a later rewind does not undo again what an earlier one has
  for at = #entries, 1, -1 do
    local entry = assert(entries[at])
    local operation = words.given(entry.checkpoint.operation)
    local kind = operation and operation.kind
    if operation and words.given(entry.checkpoint.operation) then
      local found, is_complete = {}, false
      for i = at + 1, #entries do
        local other = assert(entries[i])
        local checkpoint = other.checkpoint
        local of = words.given(checkpoint.operation)
        local is_target = checkpoint.id == operation.target or words.given(checkpoint.turn) == operation.target
        if kind == 'undo' or kind == 'redo' then
          is_complete = of ~= nil and of.id == words.given(operation.of)
          found = is_complete and { other } or found
        elseif checkpoint.taken_out and not is_folded[other] and (kind == 'rewind' or is_target) then
          table.insert(found, other)
        end
        is_complete = is_complete or (is_target and kind ~= 'undo' and kind ~= 'redo')
        if is_complete then
          break
        end
      end
      if is_complete and (kind ~= 'rewind' and kind ~= 'revert' or not words.given(operation.undone_by)) then
        for _, each in ipairs(found) do
          is_folded[each] = true
        end
        entry.undone = #found > 0 and found or nil
      end
    end
  end
  -- turns are at most one row below the top: they leave an operation that was itself undone
  for entry in pairs(is_folded) do
    local turns, others = {}, {}
    for _, each in ipairs(entry.undone or {}) do
      table.insert(each.checkpoint.kind == 'turn' and turns or others, each)
    end
    for _, turn in ipairs(turns) do
      is_folded[turn] = nil
    end
    entry.undone = #others > 0 and others or nil
  end
  return vim.tbl_filter(function(entry)
    return not is_folded[entry]
  end, entries)
end

--- Groups steps below their turns, edits of the user that follow one another, and what an operation undid below it.
---@param newest_first backstitch.Checkpoint[]
---@return backstitch.Entry[]
function M.entries(newest_first)
  local turns, all = {}, {}
  for _, checkpoint in ipairs(newest_first) do
    local turn = words.given(checkpoint.turn)
    if checkpoint.kind == 'turn' and turn then
      turns[turn] = { checkpoint = checkpoint, steps = {} }
    end
  end
  for _, checkpoint in ipairs(newest_first) do
    local name = words.given(checkpoint.turn)
    local turn = turns[name or '']
    if not turn and name and checkpoint.kind == 'step' then
      turn = { checkpoint = turn_of(checkpoint), steps = {} }
      turns[name] = turn
      table.insert(all, turn)
    end
    if turn and checkpoint.kind == 'turn' then
      table.insert(all, turn)
    elseif turn and checkpoint.kind == 'step' then
      table.insert(turn.steps, checkpoint)
      if not checkpoint.taken_out and turn.checkpoint.id == name then
        turn.checkpoint.taken_out = false
      end
    else
      table.insert(all, { checkpoint = checkpoint, steps = {} })
    end
  end
  return merge_saves(fold_operations(all))
end

---@param checkpoints backstitch.Checkpoint[]
---@return backstitch.Change[] changes, integer gaps
local function sums(checkpoints)
  local changes, gaps = {}, 0
  for _, checkpoint in ipairs(checkpoints) do
    vim.list_extend(changes, checkpoint.changes)
    gaps = gaps + #checkpoint.coverage.items
  end
  return changes, gaps
end

---@param rows backstitch.Row[]
---@param parent backstitch.Row
---@param checkpoint backstitch.Checkpoint
---@param is_known fun(unsaved: backstitch.Unsaved): boolean True if the checkpoint before has the same.
local function files(rows, parent, checkpoint, is_known)
  for _, change in ipairs(checkpoint.changes) do
    local path = words.shown(change.path)
    local from = change.from and words.shown(change.from)
    table.insert(rows, {
      id = ('%s:%s'):format(parent.id, path),
      depth = parent.depth + 1,
      left = {
        { words.letter(change) .. ' ', words.letter_group(change) },
        { from and ('%s → %s'):format(from, path) or path, change.kind == 'delete' and 'BackstitchDim' or nil },
      },
      right = { { words.dotted({ words.counts({ change }), change.binary and 'binary' or '' }), 'BackstitchDim' } },
      checkpoint = checkpoint,
      change = change,
    })
  end
  for _, unsaved in ipairs(checkpoint.unsaved) do
    if not is_known(unsaved) then
      table.insert(rows, {
        id = ('%s:unsaved:%s'):format(parent.id, words.shown(unsaved.path)),
        depth = parent.depth + 1,
        left = { { '~ ', 'BackstitchDim' }, { words.shown(unsaved.path) } },
        right = { { 'unsaved in ' .. unsaved.editor, 'BackstitchDim' } },
        checkpoint = checkpoint,
      })
    end
  end
  for _, item in ipairs(checkpoint.coverage.items) do
    table.insert(rows, {
      id = ('%s:gap:%s'):format(parent.id, words.shown(item.path)),
      depth = parent.depth + 1,
      left = { { '⚠ ' .. words.shown(item.path), 'BackstitchWarning' } },
      right = { { 'not captured: ' .. item.detail, 'BackstitchDim' } },
      checkpoint = checkpoint,
    })
  end
end

---@class backstitch.Place Position of an entry in the tree.
---@field depth integer
---@field branch backstitch.Branch
---@field now integer
---@field is_newest_turn boolean
---@field names_agents boolean
---@field names_sessions boolean
---@field before table<string, backstitch.Checkpoint> The checkpoint before each, by id.

---@param timeline backstitch.Timeline
---@param rows backstitch.Row[]
---@param entry backstitch.Entry
---@param at backstitch.Place
local function entry_rows(timeline, rows, entry, at)
  local checkpoint = entry.checkpoint
  local is_turn = checkpoint.kind == 'turn'
  local changes, gaps = sums(entry.saves or vim.list_extend({ checkpoint }, entry.steps))
  local id = ('%s:%s'):format(at.branch.name, is_turn and words.rev(checkpoint) or checkpoint.id)
  ---@param unsaved backstitch.Unsaved
  local function is_known(unsaved)
    local before = at.before[checkpoint.id]
    return before ~= nil
      and vim.iter(before.unsaved):any(function(other)
        return words.shown(other.path) == words.shown(unsaved.path) and other.editor == unsaved.editor
      end)
  end
  local unsaved = vim.iter(checkpoint.unsaved):any(function(each)
    return not is_known(each)
  end)
  local has_more = #entry.steps + #checkpoint.changes + #checkpoint.coverage.items > 0
    or unsaved
    or entry.saves
    or entry.undone
  local is_open = nil
  if has_more then
    is_open = timeline.open[id]
    if is_open == nil then
      is_open = at.is_newest_turn
    end
  end
  -- a branch that was created at a turn begins before it: the turn's work is not on it
  local is_start = is_turn and #entry.steps == 0 and words.given(at.branch.fork_point) == checkpoint.id
  local is_undone = checkpoint.taken_out and not is_start
  local title_group = (is_undone or is_start) and 'BackstitchDim'
    or is_turn and 'BackstitchPrompt'
    or checkpoint.kind == 'step' and 'BackstitchTool'
    or nil
  local left = {}
  if checkpoint.id == timeline.head and at.branch.name == timeline.current then
    table.insert(left, { '● ', 'BackstitchCurrent' })
  end
  if is_start then
    table.insert(left, { 'starts before ', 'BackstitchDim' })
  end
  local letter = is_turn and at.names_sessions and words.given(checkpoint.letter)
  if letter then
    table.insert(left, { letter .. ' ', words.session_group(letter) })
  end
  if is_turn then
    local group = letter and words.session_group(letter) or 'BackstitchTurn'
    table.insert(left, { words.rev(checkpoint) .. ' ', group })
  elseif checkpoint.kind == 'rewind' then
    table.insert(left, { '⟲ ', 'BackstitchTag' })
  elseif checkpoint.failed then
    table.insert(left, { '✗ ', 'BackstitchWarning' })
  end
  local about = words.about(checkpoint)
  -- the words of others stay as they are
  local is_own = not words.given(checkpoint.label) and checkpoint.kind ~= 'step'
  table.insert(left, { is_own and words.sentence(about) or about, title_group })
  local right = {}
  local function add(text, group, weight)
    if text ~= '' then
      table.insert(right, { text, group, weight = weight })
    end
  end
  add(is_undone and 'undone' or '', 'BackstitchDim', 4)
  local turns = vim.tbl_filter(function(each)
    return each.checkpoint.kind == 'turn'
  end, entry.undone or {})
  add(#turns > 0 and words.count(#turns, 'turn') .. ' undone' or '', 'BackstitchDim', 4)
  add(entry.saves and words.count(#entry.saves, 'save') or '', 'BackstitchDim', 1)
  add(checkpoint.failed and 'failed' or '', 'BackstitchWarning', 5)
  add(checkpoint.pinned and '◆' or '', 'BackstitchTag', 5)
  for _, tag in ipairs(checkpoint.tags) do
    add('⚑ ' .. tag, 'BackstitchTag', 6)
  end
  add(gaps > 0 and ('⚠ %d not captured'):format(gaps) or '', 'BackstitchWarning', 5)
  add(words.counts(changes), 'BackstitchDim', 3)
  add(is_turn and at.names_agents and words.given(checkpoint.agent) or '', 'BackstitchDim', 1)
  add(words.age(checkpoint.time, at.now), 'BackstitchDim', 2)
  local row = {
    id = id,
    depth = at.depth,
    left = left,
    right = right,
    is_open = is_open,
    checkpoint = checkpoint,
    steps = is_turn and entry.steps or nil,
    saves = entry.saves,
  }
  table.insert(rows, row)
  if not is_open then
    return
  end
  local below = vim.tbl_extend('force', at, { depth = at.depth + 1, is_newest_turn = false })
  for _, each in ipairs(entry.undone or {}) do
    entry_rows(timeline, rows, each, below)
  end
  for i, save in ipairs(entry.saves or {}) do
    local first = #rows + 1
    entry_rows(timeline, rows, { checkpoint = save, steps = {} }, below)
    if i == 1 then
      -- the newest has the id of the group
      for j = first, #rows do
        rows[j].id = rows[j].id .. ':newest'
      end
    end
  end
  for _, step in ipairs(entry.steps) do
    entry_rows(timeline, rows, { checkpoint = step, steps = {} }, below)
  end
  if not entry.saves then
    files(rows, row, checkpoint, is_known)
  end
end

--- Returns the row of a list without checkpoints.
---@param timeline backstitch.Timeline
---@param id string
---@param depth integer
---@return backstitch.Row
local function empty(timeline, id, depth)
  local text = timeline.filter and 'No checkpoint matches.' or "No checkpoints yet: an agent's work appears here."
  return { id = id, depth = depth, left = { { text, 'BackstitchDim' } }, right = {} }
end

---@param timeline backstitch.Timeline
---@param now integer seconds since 1970
---@return backstitch.Row[]
function M.rows(timeline, now)
  local rows = {}
  if timeline.filter then
    table.insert(rows, {
      id = 'filter',
      depth = 0,
      left = { { 'Only ', 'BackstitchDim' }, { timeline.filter, 'BackstitchFilter' } },
      right = { { timeline.filter_key and timeline.filter_key .. ' shows all' or '', 'BackstitchDim', weight = 9 } },
    })
  end
  -- rows name the agent, and the session, only if there are several
  local agents, letters = {}, {}
  for _, page in pairs(timeline.pages) do
    for _, checkpoint in ipairs(page.checkpoints) do
      if checkpoint.kind == 'turn' then
        agents[words.given(checkpoint.agent) or ''] = true
      end
      letters[words.given(checkpoint.letter) or false] = true
    end
  end
  letters[false] = nil
  local names_agents, names_sessions = vim.tbl_count(agents) > 1, vim.tbl_count(letters) > 1
  local branches = vim.tbl_filter(function(branch)
    return not branch.deleted
  end, timeline.branches)
  table.sort(branches, function(one, other)
    if one.current ~= other.current then
      return one.current
    end
    return one.name < other.name
  end)
  if timeline.is_loaded and #branches == 0 then
    table.insert(rows, empty(timeline, 'none', 0))
  end
  for _, branch in ipairs(branches) do
    local id = 'branch:' .. branch.name
    local is_open = timeline.open[id]
    if is_open == nil then
      is_open = branch.current
    end
    local from, root = words.given(branch.fork_point), words.given(branch.root)
    table.insert(rows, {
      id = id,
      depth = 0,
      left = { { branch.name, branch.current and 'BackstitchCurrent' or 'BackstitchBranch' } },
      right = {
        {
          words.dotted({
            branch.current and 'current' or '',
            from and 'from ' .. from or '',
            root and not branch.current and 'in ' .. words.shown(root) or '',
            words.given(branch.description) or '',
          }),
          'BackstitchDim',
        },
      },
      is_open = is_open,
      branch = branch,
    })
    local page = is_open and timeline.pages[branch.name]
    if page then
      local has_turn, before = false, {}
      for i, checkpoint in ipairs(page.checkpoints) do
        before[checkpoint.id] = page.checkpoints[i + 1]
      end
      for _, entry in ipairs(M.entries(page.checkpoints)) do
        local is_newest_turn = branch.current and not has_turn and entry.checkpoint.kind == 'turn'
        has_turn = has_turn or is_newest_turn
        entry_rows(timeline, rows, entry, {
          depth = 1,
          branch = branch,
          now = now,
          is_newest_turn = is_newest_turn,
          names_agents = names_agents,
          names_sessions = names_sessions,
          before = before,
        })
      end
      if page.more then
        table.insert(rows, {
          id = id .. ':more',
          depth = 1,
          left = { { 'Older checkpoints…', 'BackstitchDim' } },
          right = {},
          more = branch.name,
        })
      elseif #page.checkpoints == 0 then
        table.insert(rows, empty(timeline, id .. ':none', 1))
      end
    end
  end
  return rows
end

---@param chunks backstitch.Chunk[]|backstitch.Detail[]
---@param gap integer Cells between two of them.
local function width(chunks, gap)
  local sum = gap * math.max(0, #chunks - 1)
  for _, chunk in ipairs(chunks) do
    sum = sum + vim.fn.strdisplaywidth(chunk[1])
  end
  return sum
end

--- Share of the line that belongs to the title.
local TITLE = 0.6

--- Lays out a row in `columns` cells: the title on the left, cut if too long, the details on the right.
---@param row backstitch.Row
---@param columns integer
---@return backstitch.Chunk[]
function M.line(row, columns)
  local fold = row.is_open == nil and '  ' or row.is_open and '▾ ' or '▸ '
  local chunks = { { ('  '):rep(row.depth) .. fold, 'BackstitchDim' } }
  local right = vim.list_slice(row.right)
  local left_width, head = width(row.left, 0), width(chunks, 0)
  local least = math.min(left_width, math.floor((columns - head) * TITLE))
  while #right > 0 and columns - head - width(right, 3) - 2 < least do
    local lightest = 1
    for i, detail in ipairs(right) do
      lightest = (detail.weight or 0) < (right[lightest].weight or 0) and i or lightest
    end
    table.remove(right, lightest)
  end
  local right_width = width(right, 3)
  local room = columns - head - right_width - (right_width > 0 and 2 or 0)
  for i, chunk in ipairs(row.left) do
    local text = chunk[1]
    local is_last = i == #row.left
    if is_last and vim.fn.strdisplaywidth(text) > room then
      text = words.line(text, math.max(1, room))
    end
    room = room - vim.fn.strdisplaywidth(text)
    table.insert(chunks, { text, chunk[2] })
  end
  if right_width > 0 then
    table.insert(chunks, { (' '):rep(math.max(0, room) + 2) })
    for i, detail in ipairs(right) do
      table.insert(chunks, { (i > 1 and ' · ' or '') .. detail[1], detail[2] })
    end
  end
  return chunks
end

return M
