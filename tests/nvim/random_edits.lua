--- Random keys of a user and random edits of an agent in the current buffer, 500 of both, against a slow reference: a list of
--- lines that each know their text in the buffer and on disk. The agent reports its edits by the real hook, and works while the
--- user types. It edits lines apart from unsaved ones, whose edits are merged, or an unsaved line itself: then the buffer
--- stays as it is until the user reads the file again, or overwrites it. Sets `_G.outcome`, and says `random edits: over` in the
--- status line. Until then nothing else may talk to this Neovim, or keys wait, and go to other lines than those that the
--- reference means. `_G.seed` repeats the choices of a run.
local reload = require('backstitch.reload')

local STEPS = 500
--- Looks at a buffer that is not as expected, before that is a failure; 5 milliseconds apart.
local TRIES = 12000
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
--- True from an edit of an unsaved line until the user decides.
local is_conflict = false
--- True while the agent works.
local is_busy = false
local conflicts = 0
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

local function compare()
  local expected, found = listed('text'), vim.api.nvim_buf_get_lines(buf, 0, -1, true)
  for i = 1, math.max(#expected, #found) do
    if expected[i] ~= found[i] then
      return ('step %d, line %d: %s, not %s'):format(_G.step, i, vim.inspect(found[i]), vim.inspect(expected[i]))
    end
  end
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

--- Changes a line on disk, and in the buffer unless the user has to decide.
local function change(i)
  made = made + 1
  local kind = random(3)
  if kind == 1 or #lines < 20 then
    for j = 1, random(3) do
      local text = ('agent %d.%d'):format(made, j)
      table.insert(lines, i + j, { disk = text, text = not is_conflict and text or nil })
    end
  elseif kind == 2 then
    lines[i].disk = ('agent %d'):format(made)
    if not is_conflict then
      lines[i].text = lines[i].disk
    end
  elseif is_conflict then
    lines[i].disk = nil
  else
    table.remove(lines, i)
  end
  table.insert(_G.log, ('agent %d at %d'):format(kind, i))
end

--- Changes a line on disk that the user has changed, too, and has not saved.
local function collide()
  if typing or compare() then
    -- edits before would wait for the decision, too
    return false
  end
  for _, line in ipairs(lines) do
    if line.disk and line.text and line.disk ~= line.text then
      made = made + 1
      line.disk = ('agent %d'):format(made)
      is_conflict, conflicts = true, conflicts + 1
      table.insert(_G.log, 'agent, a conflict')
      return true
    end
  end
  return false
end

--- One edit between the two events of a call.
local function edit()
  local i = random(#lines)
  if random(6) == 1 and collide() then
    -- done
  elseif lines[i].disk and (is_conflict or is_free(i)) then
    change(i)
  else
    return
  end
  local file = assert(io.open(path, 'wb'))
  file:write(table.concat(listed('disk'), '\n') .. '\n')
  file:close()
end

---@param name string
---@param fields table
---@param back fun()
local function hook(name, fields, back)
  local event = vim.tbl_extend('force', {
    hook_event_name = name,
    session_id = '00000000-0000-4000-8000-000000000001',
    transcript_path = root .. '.jsonl',
    cwd = root,
    prompt_id = 'p1',
    permission_mode = 'acceptEdits',
  }, fields)
  vim.system(
    { 'backstitch', 'hook', 'claude-code' },
    { stdin = vim.json.encode(event), cwd = root },
    vim.schedule_wrap(function(done)
      if done.code ~= 0 or done.stderr ~= '' then
        _G.outcome = ('hook %s: %d %s'):format(name, done.code, done.stderr)
      end
      back()
    end)
  )
end

local calls = 0
--- Steps of the user since the agent's last call.
local meanwhile = 0
local function agent()
  is_busy, calls, meanwhile = true, calls + 1, 0
  local call = {
    tool_name = 'Edit',
    tool_input = { file_path = path, old_string = 'a', new_string = 'b' },
    tool_use_id = 'toolu_' .. calls,
  }
  hook('PreToolUse', call, function()
    edit()
    hook('PostToolUse', vim.tbl_extend('force', call, { tool_response = { filePath = path } }), function()
      is_busy = false
    end)
  end)
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
  if kind == 1 and (is_busy or not is_conflict and reload.is_behind(buf)) then
    -- Neovim would ask whether to write
    return ''
  elseif kind == 1 then
    local from, to = 'text', 'disk'
    if is_conflict and random(2) == 1 then
      from, to = to, from
    end
    for i = #lines, 1, -1 do
      lines[i][to] = lines[i][from]
      if not lines[i][to] then
        table.remove(lines, i)
      end
    end
    -- at once: typed, it may run after the agent's next edit, and Neovim asks
    vim.cmd(to == 'text' and 'silent edit!' or is_conflict and 'silent write!' or 'silent write')
    vim.bo[buf].autoindent = false
    is_conflict = false
    table.insert(_G.log, 'user takes ' .. from)
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

_G.step = 0

local function finish(outcome)
  if not outcome:find('agree') then
    outcome = outcome .. '; ' .. table.concat(vim.list_slice(_G.log, math.max(1, #_G.log - 7)), ', ')
  end
  _G.outcome, _G.conflicts = _G.outcome or outcome, conflicts
  _G.calls = calls
  vim.o.laststatus, vim.o.statusline = 2, 'random edits: over'
end

local advance, settle

--- Waits until the buffer is as expected, or it is sure that it will not be.
function settle(tries)
  local mode = vim.api.nvim_get_mode()
  local is_over = not mode.blocking and (mode.mode == 'n') == (typing == nil)
  -- in Insert mode nothing moves: the rest is seen after it
  local wrong = is_over and not typing and compare() or nil
  if is_over and not wrong then
    return advance()
  elseif tries == 0 then
    return finish(wrong or ('step %d: mode %s'):format(_G.step, mode.mode))
  end
  vim.defer_fn(function()
    settle(tries - 1)
  end, 5)
end

function advance()
  local is_last = _G.step >= STEPS and not typing
  if is_last and not is_busy then
    local wrong = compare()
    return finish(wrong or ('%d steps agree'):format(STEPS))
  elseif is_last or (is_busy and meanwhile >= 2 and not typing) or (not typing and compare()) then
    -- the agent works, or the buffer does not have its edit yet
    return vim.defer_fn(function()
      settle(TRIES)
    end, 5)
  end
  _G.step = _G.step + 1
  if random(2) == 1 and not is_busy then
    agent()
    vim.schedule(function()
      settle(TRIES)
    end)
    return
  end
  meanwhile = meanwhile + 1
  local keys = user()
  table.insert(_G.log, 'user ' .. vim.inspect(keys))
  vim.api.nvim_input((keys:gsub('<', '<lt>')))
  vim.defer_fn(function()
    settle(TRIES)
  end, 3)
end

hook('UserPromptSubmit', { prompt = 'edit' }, advance)
