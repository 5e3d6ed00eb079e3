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
---@field pages table<string, backstitch.Page> Keyed by branch.
---@field open table<string, boolean> Fold state by row id; rows without an entry have their default.

---@class backstitch.Row
---@field id string
---@field depth integer
---@field left backstitch.Chunk[]
---@field right backstitch.Chunk[]
---@field is_open? boolean nil: the row has no children.
---@field branch? backstitch.Branch
---@field checkpoint? backstitch.Checkpoint
---@field steps? backstitch.Checkpoint[] of a turn
---@field change? backstitch.Change
---@field more? string The branch that has older rows.

---@class backstitch.Entry
---@field checkpoint backstitch.Checkpoint
---@field steps backstitch.Checkpoint[]

--- Groups steps below their turns. A step whose turn is not loaded yet is an entry of its own.
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
    local turn = turns[words.given(checkpoint.turn) or '']
    if turn and checkpoint.kind == 'turn' then
      table.insert(all, turn)
    elseif turn and checkpoint.kind == 'step' then
      table.insert(turn.steps, checkpoint)
    else
      table.insert(all, { checkpoint = checkpoint, steps = {} })
    end
  end
  return all
end

---@param parts string[]
local function dotted(parts)
  return table.concat(
    vim.tbl_filter(function(part)
      return part ~= ''
    end, parts),
    ' · '
  )
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
local function files(rows, parent, checkpoint)
  for _, change in ipairs(checkpoint.changes) do
    local path = words.shown(change.path)
    local from = change.from and words.shown(change.from)
    table.insert(rows, {
      id = ('%s:%s'):format(parent.id, path),
      depth = parent.depth + 1,
      left = { { path, change.kind == 'delete' and 'BackstitchRemoved' or nil } },
      right = {
        {
          dotted({
            from and ('from ' .. from) or words.kind(change),
            words.counts({ change }),
            change.binary and 'binary' or '',
          }),
          'BackstitchDim',
        },
      },
      checkpoint = checkpoint,
      change = change,
    })
  end
  for _, unsaved in ipairs(checkpoint.unsaved) do
    table.insert(rows, {
      id = ('%s:unsaved:%s'):format(parent.id, words.shown(unsaved.path)),
      depth = parent.depth + 1,
      left = { { words.shown(unsaved.path) } },
      right = { { 'not saved in ' .. unsaved.editor, 'BackstitchDim' } },
      checkpoint = checkpoint,
    })
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

---@param timeline backstitch.Timeline
---@param rows backstitch.Row[]
---@param entry backstitch.Entry
---@param at { depth: integer, branch: string, now: integer, is_newest_turn: boolean, names_agents: boolean }
local function entry_rows(timeline, rows, entry, at)
  local checkpoint = entry.checkpoint
  local is_turn = checkpoint.kind == 'turn'
  local changes, gaps = sums(vim.list_extend({ checkpoint }, entry.steps))
  local id = ('%s:%s'):format(at.branch, checkpoint.id)
  local has_more = #entry.steps + #checkpoint.changes + #checkpoint.unsaved + #checkpoint.coverage.items > 0
  local is_open = nil
  if has_more then
    is_open = timeline.open[id]
    if is_open == nil then
      is_open = at.is_newest_turn
    end
  end
  local is_undone = checkpoint.taken_out
  local title_group = is_undone and 'BackstitchDim'
    or is_turn and 'BackstitchPrompt'
    or checkpoint.kind == 'step' and 'BackstitchTool'
    or nil
  local left = {}
  if checkpoint.id == timeline.head and at.branch == timeline.current then
    table.insert(left, { '● ', 'BackstitchCurrent' })
  end
  if is_turn then
    table.insert(left, { words.rev(checkpoint) .. ' ', 'BackstitchTurn' })
  end
  table.insert(left, { words.about(checkpoint), title_group })
  local right = {}
  local function add(text, group)
    if text ~= '' then
      table.insert(right, { (#right > 0 and ' · ' or '') .. text, group })
    end
  end
  add(is_undone and 'undone' or '', 'BackstitchDim')
  add(checkpoint.pinned and '◆' or '', 'BackstitchTag')
  for _, tag in ipairs(checkpoint.tags) do
    add('⚑ ' .. tag, 'BackstitchTag')
  end
  add(gaps > 0 and ('⚠ %d not captured'):format(gaps) or '', 'BackstitchWarning')
  add(words.counts(changes), 'BackstitchDim')
  add(is_turn and at.names_agents and words.given(checkpoint.agent) or '', 'BackstitchDim')
  add(words.ago(checkpoint.time, at.now), 'BackstitchDim')
  local row = {
    id = id,
    depth = at.depth,
    left = left,
    right = right,
    is_open = is_open,
    checkpoint = checkpoint,
    steps = is_turn and entry.steps or nil,
  }
  table.insert(rows, row)
  if not is_open then
    return
  end
  for _, step in ipairs(entry.steps) do
    entry_rows(timeline, rows, { checkpoint = step, steps = {} }, {
      depth = at.depth + 1,
      branch = at.branch,
      now = at.now,
      is_newest_turn = false,
      names_agents = false,
    })
  end
  files(rows, row, checkpoint)
end

---@param timeline backstitch.Timeline
---@param now integer seconds since 1970
---@return backstitch.Row[]
function M.rows(timeline, now)
  local rows = {}
  -- rows name the agent only if there are several
  local agents = {}
  for _, page in pairs(timeline.pages) do
    for _, checkpoint in ipairs(page.checkpoints) do
      if checkpoint.kind == 'turn' then
        agents[words.given(checkpoint.agent) or ''] = true
      end
    end
  end
  local names_agents = vim.tbl_count(agents) > 1
  local branches = vim.tbl_filter(function(branch)
    return not branch.deleted
  end, timeline.branches)
  table.sort(branches, function(one, other)
    if one.current ~= other.current then
      return one.current
    end
    return one.name < other.name
  end)
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
          dotted({
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
      local has_turn = false
      for _, entry in ipairs(M.entries(page.checkpoints)) do
        local is_newest_turn = branch.current and not has_turn and entry.checkpoint.kind == 'turn'
        has_turn = has_turn or is_newest_turn
        entry_rows(timeline, rows, entry, {
          depth = 1,
          branch = branch.name,
          now = now,
          is_newest_turn = is_newest_turn,
          names_agents = names_agents,
        })
      end
      if page.more then
        table.insert(rows, {
          id = id .. ':more',
          depth = 1,
          left = { { 'older checkpoints…', 'BackstitchDim' } },
          right = {},
          more = branch.name,
        })
      elseif #page.checkpoints == 0 then
        table.insert(rows, {
          id = id .. ':none',
          depth = 1,
          left = { { 'no checkpoints yet: they appear when an agent starts working here', 'BackstitchDim' } },
          right = {},
        })
      end
    end
  end
  return rows
end

---@param chunks backstitch.Chunk[]
local function width(chunks)
  local sum = 0
  for _, chunk in ipairs(chunks) do
    sum = sum + vim.fn.strdisplaywidth(chunk[1])
  end
  return sum
end

--- Lays out a row in `columns` cells: the title on the left, cut if too long, the details on the right.
---@param row backstitch.Row
---@param columns integer
---@return backstitch.Chunk[]
function M.line(row, columns)
  local fold = row.is_open == nil and '  ' or row.is_open and '▾ ' or '▸ '
  local chunks = { { ('  '):rep(row.depth) .. fold, 'BackstitchDim' } }
  local right = row.right
  local left_width, right_width, head = width(row.left), width(right), width(chunks)
  -- the title gets at least a quarter of the line
  local min_left = math.min(left_width, math.floor(columns / 4))
  while right_width > 0 and columns - head - right_width - 2 < min_left do
    right = vim.list_slice(right, 1, #right - 1)
    right_width = width(right)
  end
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
    vim.list_extend(chunks, right)
  end
  return chunks
end

return M
