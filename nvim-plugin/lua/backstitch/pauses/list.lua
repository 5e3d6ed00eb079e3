--- List of held calls: its rows, and the lines below the call that is shown.
local float = require('backstitch.float')
local files = require('backstitch.held_files')
local words = require('backstitch.words')

local M = {}

local namespace = vim.api.nvim_create_namespace('backstitch.pauses')

--- Cells of a prompt in a row.
local PROMPT = 40

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
    table.insert(chunks, { (' “%s”'):format(words.line(prompt, PROMPT)), 'BackstitchDim' })
  end
  table.insert(chunks, { '  ' .. words.line(pause.why), 'BackstitchDim' })
  return chunks
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
  local prompt = words.line(words.given(details.pause.prompt) or '', 200)
  if vim.fn.strdisplaywidth(prompt) > PROMPT then
    add(('“%s”'):format(prompt), 'BackstitchPrompt')
  end
  local changed_by = words.given(details.pause.changedBy)
  if changed_by then
    add(('its input was changed in %s: that is shown, and runs'):format(words.place(changed_by)), 'BackstitchWarning')
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

--- Returns the window of the list.
---@param view backstitch.HeldView
---@return integer?
function M.window(view)
  return vim.fn.win_findbuf(view.list)[1]
end

--- Draws the list anew.
---@param view backstitch.HeldView
function M.draw(view)
  if not vim.api.nvim_buf_is_valid(view.list) then
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
      local by = words.given(pause.decidedBy)
      local decided = by and ('decided in %s, for its next try'):format(words.place(by)) or 'held again at its next try'
      table.insert(row, { '  its time ran out: ' .. decided, 'BackstitchDim' })
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
  local window = M.window(view)
  -- without another window the height is that of the screen
  if window and view.shown and view.shown.right then
    vim.api.nvim_win_set_height(window, math.max(3, math.min(#lines + 1, 10)))
  end
end

return M
