--- Random keys of a user and random edits of an agent in the current buffer, 500 of both, against a slow reference: a list of
--- lines that each know their text in the buffer and on disk. The agent edits no line next to one that is not saved. Sets
--- `_G.outcome`. `_G.seed` repeats a run.
local reload = require('backstitch.reload')

local STEPS = 500
--- Last steps, for a failure.
_G.log = {}
local state = _G.seed % 2147483647

local function random(n)
  state = (state * 48271) % 2147483647
  return state % n + 1
end

---@class Line
---@field disk? string
---@field text? string

local buf = vim.api.nvim_get_current_buf()
-- the reference knows no indents
vim.bo[buf].autoindent = false
local path = vim.api.nvim_buf_get_name(buf)
local root = vim.fs.dirname(path)
---@type Line[]
local lines = {}
for i, text in ipairs(vim.api.nvim_buf_get_lines(buf, 0, -1, true)) do
  lines[i] = { disk = text, text = text }
end
--- The line that the user types in.
local typing
local made = 0

local function listed(field)
  local all = {}
  for _, line in ipairs(lines) do
    if line[field] then
      table.insert(all, line[field])
    end
  end
  return all
end

local function index_of(line)
  for i, each in ipairs(lines) do
    if each == line then
      return i
    end
  end
  error('unknown line')
end

--- True if nothing is unsaved here and next to it.
local function is_free(i)
  for at = i - 3, i + 3 do
    local line = lines[at]
    if line and (line.disk ~= line.text or line == typing) then
      return false
    end
  end
  return true
end

local function agent()
  local i = random(#lines)
  if not is_free(i) then
    return
  end
  made = made + 1
  local kind = random(3)
  if kind == 1 or #lines < 20 then
    for j = 1, random(3) do
      local text = ('agent %d.%d'):format(made, j)
      table.insert(lines, i + j, { disk = text, text = text })
    end
  elseif kind == 2 then
    lines[i].disk = ('agent %d'):format(made)
    lines[i].text = lines[i].disk
  else
    table.remove(lines, i)
  end
  table.insert(_G.log, ('agent %d at %d'):format(kind, i))
  local file = assert(io.open(path, 'wb'))
  file:write(table.concat(listed('disk'), '\n') .. '\n')
  file:close()
  -- the notification of the server comes a little later
  vim.defer_fn(function()
    reload.below(root)
  end, random(4) - 1)
end

--- Number of the line in the buffer.
local function number(line)
  local n = 0
  for _, each in ipairs(lines) do
    n = n + (each.text and 1 or 0)
    if each == line then
      return n
    end
  end
end

local function user()
  if typing then
    if random(3) == 1 then
      typing = nil
      return '\27'
    end
    made = made + 1
    typing.text = typing.text .. ' k' .. made
    return ' k' .. made
  end
  local line = lines[random(#lines)]
  if not line.text then
    return ''
  end
  local kind = random(6)
  if kind == 1 then
    for _, each in ipairs(lines) do
      each.disk = each.text
    end
    -- at once: typed, it may run after the agent's next edit, and Neovim asks
    vim.cmd('silent write')
    return ''
  elseif kind == 2 then
    typing = { text = '' }
    table.insert(lines, index_of(line) + 1, typing)
    return number(line) .. 'Go'
  elseif kind == 3 then
    line.text = 'x' .. line.text
    return number(line) .. 'G0ix\27'
  end
  typing = line
  return number(line) .. 'GA'
end

local step, sent = 0, 0

local function finish(outcome)
  if not outcome:find('agree') then
    outcome = outcome .. '; ' .. table.concat(vim.list_slice(_G.log, math.max(1, #_G.log - 7)), ', ')
  end
  _G.outcome = outcome
end

local function compare()
  local expected, found = listed('text'), vim.api.nvim_buf_get_lines(buf, 0, -1, true)
  for i = 1, math.max(#expected, #found) do
    if expected[i] ~= found[i] then
      return ('step %d, line %d: %s, not %s'):format(step, i, vim.inspect(found[i]), vim.inspect(expected[i]))
    end
  end
end

local advance

--- Waits until the buffer is as expected, or it is sure that it will not be.
local function settle(tries)
  local mode = vim.api.nvim_get_mode()
  local is_over = not mode.blocking and (mode.mode == 'n') == (typing == nil)
  -- in Insert mode nothing moves: the rest is seen after it
  local wrong = is_over and not typing and compare() or nil
  if is_over and not wrong then
    return advance()
  elseif tries == 0 then
    return finish(wrong or ('step %d: mode %s'):format(step, mode.mode))
  end
  vim.defer_fn(function()
    settle(tries - 1)
  end, 5)
end

function advance()
  if step >= STEPS and not typing then
    local wrong = compare()
    return finish(wrong or ('%d steps agree'):format(STEPS))
  end
  step = step + 1
  if random(2) == 1 then
    agent()
    vim.schedule(function()
      settle(600)
    end)
    return
  end
  local keys = user()
  table.insert(_G.log, 'user ' .. vim.inspect(keys))
  sent = sent + #keys
  vim.api.nvim_input((keys:gsub('<', '<lt>')))
  vim.defer_fn(function()
    settle(600)
  end, 3)
end

advance()
