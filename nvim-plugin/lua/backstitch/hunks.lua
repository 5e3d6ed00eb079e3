--- Brings a buffer to a new text by replacing only the lines that differ, so that cursor, marks, folds and extmarks stay
--- with their text.
local M = {}

local namespace = vim.api.nvim_create_namespace('backstitch.hunks')

--- Changed lines: first line and number of lines before, first line and number of lines after.
---@alias backstitch.LineHunk [integer, integer, integer, integer]

--- Returns the differing lines of two texts, from the top. The lines are counted from 0, and an empty range begins at the
--- line that it is before. Pure.
---@param from string[]
---@param to string[]
---@return backstitch.LineHunk[]
function M.between(from, to)
  ---@diagnostic disable-next-line: deprecated
  local diff = vim.text and vim.text.diff or vim.diff
  local function joined(lines)
    return #lines > 0 and table.concat(lines, '\n') .. '\n' or ''
  end
  local found = diff(joined(from), joined(to), { result_type = 'indices', algorithm = 'histogram' })
  ---@cast found integer[][]
  return vim.tbl_map(function(hunk)
    local a, an, b, bn = unpack(hunk)
    return { an == 0 and a or a - 1, an, bn == 0 and b or b - 1, bn }
  end, found)
end

--- Moves hunks of a base to the lines of a text that differs from this base elsewhere. Returns nil where both differ in the
--- same or in adjacent lines. Pure.
---@param theirs backstitch.LineHunk[]
---@param ours backstitch.LineHunk[]
---@return backstitch.LineHunk[]?
function M.rebased(theirs, ours)
  local moved = {}
  for _, hunk in ipairs(theirs) do
    local shift = 0
    for _, own in ipairs(ours) do
      if own[1] + own[2] < hunk[1] then
        shift = shift + own[4] - own[2]
      elseif own[1] <= hunk[1] + hunk[2] then
        return nil
      end
    end
    table.insert(moved, { hunk[1] + shift, hunk[2], hunk[3], hunk[4] })
  end
  return moved
end

--- Returns the lengths of the beginning and of the end that two lines share, in whole characters. Pure.
---@param old string
---@param new string
---@return integer first, integer last
function M.shared(old, new)
  local limit = math.min(#old, #new)
  local first = 0
  while first < limit and old:byte(first + 1) == new:byte(first + 1) do
    first = first + 1
  end
  while first > 0 and (old:byte(first + 1) or 0) >= 128 and (old:byte(first + 1) or 0) < 192 do
    first = first - 1
  end
  while first > 0 and (new:byte(first + 1) or 0) >= 128 and (new:byte(first + 1) or 0) < 192 do
    first = first - 1
  end
  local last = 0
  while last < limit - first and old:byte(#old - last) == new:byte(#new - last) do
    last = last + 1
  end
  while last > 0 and old:byte(#old - last + 1) >= 128 and old:byte(#old - last + 1) < 192 do
    last = last - 1
  end
  return first, last
end

---@param buf integer
---@param hunk backstitch.LineHunk
---@param to string[]
local function apply_one(buf, hunk, to)
  local first, count = hunk[1], hunk[2]
  local new = vim.list_slice(to, hunk[3] + 1, hunk[3] + hunk[4])
  if count ~= #new then
    vim.api.nvim_buf_set_lines(buf, first, first + count, true, new)
    return
  end
  for i, line in ipairs(new) do
    local row = first + i - 1
    local old = vim.api.nvim_buf_get_lines(buf, row, row + 1, true)[1] --[[@as string]]
    if old ~= line then
      local head, tail = M.shared(old, line)
      vim.api.nvim_buf_set_text(buf, row, head, row, #old - tail, { line:sub(head + 1, #line - tail) })
    end
  end
end

--- Replaces the lines of these hunks, in one undo step. `to` is the text that the hunks lead to.
---@param buf integer
---@param hunks backstitch.LineHunk[]
---@param to string[]
function M.apply(buf, hunks, to)
  if #hunks == 0 then
    return
  end
  ---@type table<integer, integer>
  local tops = {}
  for _, window in ipairs(vim.fn.win_findbuf(buf)) do
    local top = vim.fn.line('w0', window)
    if top > 1 then
      tops[window] = vim.api.nvim_buf_set_extmark(buf, namespace, top - 1, 0, {})
    end
  end
  local modifiable = vim.bo[buf].modifiable
  vim.bo[buf].modifiable = true
  -- closes the undo step of the last key
  vim.bo[buf].undolevels = vim.bo[buf].undolevels
  -- from the bottom, so that the numbers of the lines above hold
  for i = #hunks, 1, -1 do
    apply_one(buf, hunks[i], to)
  end
  vim.bo[buf].undolevels = vim.bo[buf].undolevels
  vim.bo[buf].modifiable = modifiable
  for window, id in pairs(tops) do
    local row = vim.api.nvim_buf_get_extmark_by_id(buf, namespace, id, {})[1]
    if row and vim.fn.line('w0', window) ~= row + 1 then
      vim.api.nvim_win_call(window, function()
        vim.fn.winrestview({ topline = row + 1 })
      end)
    end
    vim.api.nvim_buf_del_extmark(buf, namespace, id)
  end
end

return M
