--- Inline diff of a buffer against a checkpoint: the user undoes or keeps each change, and goes from one to the next.
local comparison = require('backstitch.review.comparison')
local marks = require('backstitch.review.marks')
local server = require('backstitch.server')
local task = require('backstitch.task')
local words = require('backstitch.words')

local M = {}

M.LAST_TURN = comparison.LAST_TURN
M.of = comparison.of
M.before_last_turn = comparison.before_last_turn
M.start = comparison.start
M.stop = comparison.stop
M.finish = comparison.finish
M.restyle = comparison.restyle
M.split = require('backstitch.review.split').open

local positions = vim.api.nvim_create_augroup('backstitch.review.position', {})

local anchors = vim.api.nvim_create_namespace('backstitch.review.held')

--- Returns the changes that touch lines, from 1. A pure deletion counts for the line after it, at most the last line.
---@param hunks backstitch.Hunk[]
---@param first integer
---@param last integer
---@param count integer lines of the buffer
---@return backstitch.Hunk[]
function M.touched(hunks, first, last, count)
  return vim.tbl_filter(function(hunk)
    local from, behind = hunk.new[1], hunk.new[1] + hunk.new[2]
    if from == behind then
      from = math.min(from, count)
      behind = from + 1
    end
    return first < behind and from <= last
  end, hunks)
end

--- Returns the up-to-date review of the current buffer. Extmarks track the given lines during a new comparison.
---@async
---@param first? integer
---@param last? integer
---@return backstitch.Review review, integer first, integer last
local function current(first, last)
  local review = M.of()
  if not review then
    task.fail({
      message = 'This buffer is not compared with a checkpoint',
      hint = ':Backstitch diff starts a comparison',
    })
  end
  local buf = review.buf
  if review.tick == vim.api.nvim_buf_get_changedtick(buf) then
    return review, first or 0, last or 0
  end
  local anchored = vim.tbl_map(function(line)
    local row = math.min(line, vim.api.nvim_buf_line_count(buf)) - 1
    return vim.api.nvim_buf_set_extmark(buf, anchors, math.max(row, 0), 0, { invalidate = true })
  end, { first or 1, last or 1 })
  local ok, failed = pcall(comparison.compare, review)
  local lines = {}
  for i, mark in ipairs(anchored) do
    local at = vim.api.nvim_buf_is_valid(buf)
      and vim.api.nvim_buf_get_extmark_by_id(buf, anchors, mark, { details = true })
    if at and at[1] then
      lines[i] = not (at[3] or {}).invalid and at[1] + 1 or nil
      vim.api.nvim_buf_del_extmark(buf, anchors, mark)
    end
  end
  if not ok then
    error(failed, 0)
  end
  if not lines[1] or not lines[2] then
    task.fail({ message = 'The lines have changed in the meantime', hint = 'Try again' })
  end
  return review, lines[1], lines[2]
end

---@param review backstitch.Review
---@param first integer
---@param last integer
---@return backstitch.Hunk[]
local function hunks_at(review, first, last)
  local some = M.touched(review.hunks, first, last, vim.api.nvim_buf_line_count(review.buf))
  if #some == 0 then
    task.fail({ message = 'There is no change on this line', hint = ':Backstitch next goes to one' })
  end
  return some
end

--- Replaces changes with the older lines, as an edit of the user.
---@param buf integer
---@param some backstitch.Hunk[]
local function put_back(buf, some)
  if not vim.bo[buf].modifiable then
    task.fail({ message = 'This buffer cannot be changed', hint = ':set modifiable' })
  end
  local ending = vim.bo[buf].fileformat == 'dos' and '\r$' or '$'
  -- check all hunks before writing any
  local older = vim.tbl_map(function(hunk)
    return vim.tbl_map(function(line)
      if type(line) == 'table' then
        task.fail({ message = 'The older text is not UTF-8', hint = 'Save the buffer, then undo the change' })
      end
      return (line:gsub(ending, ''))
    end, hunk.removed)
  end, some)
  for i = #some, 1, -1 do
    local from, behind = marks.range(some[i])
    -- the newline at the end of the file belongs to the last line
    if behind >= vim.api.nvim_buf_line_count(buf) and #some[i].removed > 0 then
      vim.bo[buf].endofline = not some[i].removed_no_newline
      vim.bo[buf].fixendofline = vim.bo[buf].fixendofline and not some[i].removed_no_newline
    end
    vim.api.nvim_buf_set_lines(buf, from, behind, true, older[i])
  end
end

--- Undoes the changes at these lines, by any author.
---@async
---@param first integer
---@param last integer
function M.take_back(first, last)
  local review, from, to = current(first, last)
  local some = hunks_at(review, from, to)
  -- the server computes hunks of the file, without unsaved text
  if vim.bo[review.buf].modified then
    put_back(review.buf, some)
    return comparison.compare(review)
  end
  require('backstitch.restore').run(server.client(review.buf), 'rewind', {
    workspace = review.root,
    rev = review.id,
    paths = { comparison.uri_of(review.buf) },
    hunks = vim.tbl_map(function(hunk)
      return hunk.id
    end, some),
    exact = true,
  }, { is_plain = true, what = words.count(#some, 'change') })
end

--- Keeps or marks again what the server has recorded since the checkpoint.
---@async
---@param review backstitch.Review
---@param params backstitch.ReviewParams
---@return backstitch.ReviewResult
local function decide(review, params)
  params.uri, params.since = comparison.uri_of(review.buf), review.id
  return server.request(server.client(review.buf), 'backstitch/review', params)
end

--- Keeps the changes at these lines: they are not marked until they change again.
---@async
---@param first integer
---@param last integer
function M.keep(first, last)
  local review, from, to = current(first, last)
  local some = hunks_at(review, from, to)
  local start = marks.range(some[1])
  local _, behind = marks.range(some[#some])
  local kept = decide(review, { action = 'keep', lines = { start, behind }, shown = review.shown })
  if #kept.files == 0 then
    task.fail({ message = 'This change is not recorded yet', hint = 'Save the buffer, then keep it' })
  end
  comparison.compare(review)
end

--- Marks all kept changes of this file again.
---@async
function M.forget()
  local review = current()
  decide(review, { action = 'unkeep' })
  comparison.compare(review)
  comparison.report(review)
end

--- Moves the cursor to the change with this number; a negative one counts from the last.
---@param review backstitch.Review
---@param number integer
function M.go(review, number)
  local chosen = number < 0 and #review.hunks + 1 + number or number
  local hunk = review.hunks[chosen]
  if not hunk then
    return
  end
  vim.cmd("normal! m'")
  vim.api.nvim_win_set_cursor(0, { math.min(hunk.new[1], vim.api.nvim_buf_line_count(review.buf)), 0 })
  vim.cmd('normal! zv')
  -- a line of messages, or 'shortmess', may have no room for it
  if vim.o.cmdheight > 0 and not vim.o.shortmess:find('S', 1, true) then
    vim.api.nvim_echo({ { ('change %d of %d'):format(chosen, #review.hunks) } }, false, {})
    -- the next file has other changes
    vim.api.nvim_clear_autocmds({ group = positions })
    vim.api.nvim_create_autocmd('BufLeave', {
      group = positions,
      buffer = review.buf,
      once = true,
      callback = function()
        vim.api.nvim_echo({ { '' } }, false, {})
      end,
    })
  end
end

--- Goes to the first change at this line or below it, after a change was decided.
---@async
---@param line integer From 1.
---@return boolean is_there
function M.go_from(line)
  local review = M.of()
  if not review then
    return false
  end
  comparison.compare(review)
  for i, hunk in ipairs(review.hunks) do
    if hunk.new[1] >= line then
      M.go(review, i)
      return true
    end
  end
  return false
end

--- Goes to the next or previous change, `count` times. After the last change of a file it continues in the next file of a
--- review of several files, else it wraps around.
---@async
---@param forward boolean
---@param count? integer
function M.jump(forward, count)
  local window = vim.api.nvim_get_current_win()
  local review = current()
  local panel = require('backstitch.panel')
  if #review.hunks == 0 then
    return panel.is_open() and panel.cross(forward) or comparison.report(review)
  end
  if vim.api.nvim_get_current_win() ~= window or vim.api.nvim_get_current_buf() ~= review.buf then
    error(task.CALLED_OFF, 0)
  end
  local line, lines = vim.fn.line('.'), vim.api.nvim_buf_line_count(review.buf)
  local chosen
  for i, hunk in ipairs(review.hunks) do
    local start = math.min(hunk.new[1], lines)
    if forward and start > line then
      chosen = chosen or i
    elseif not forward and start < line then
      chosen = i
    end
  end
  if not chosen and panel.is_open() and panel.cross(forward) then
    return
  end
  chosen = chosen or (forward and 1 or #review.hunks)
  local further = chosen + (forward and 1 or -1) * ((count or 1) - 1)
  M.go(review, (further - 1) % #review.hunks + 1)
end

--- Selects the lines of the change under the cursor, for a text object.
function M.select()
  local review = M.of()
  local line = vim.fn.line('.')
  local hunk = review and M.touched(review.hunks, line, line, vim.api.nvim_buf_line_count(0))[1]
  if not hunk or hunk.new[2] == 0 then
    return
  end
  vim.cmd(('normal! %dGV%dG'):format(hunk.new[1], hunk.new[1] + hunk.new[2] - 1))
end

--- Shows the change under the cursor in a float: its older lines, its newer ones, and who made it.
---@async
function M.preview()
  local line = vim.fn.line('.')
  local review = current(line, line)
  local hunk = assert(hunks_at(review, line, line)[1])
  local lines = {}
  for _, side in ipairs({ { '-', hunk.removed }, { '+', hunk.added } }) do
    for _, text in ipairs(side[2]) do
      table.insert(lines, { { side[1] .. (words.shown(text):gsub('[\r\n]+$', '')) } })
    end
  end
  local first = marks.range(hunk)
  local client = server.client(review.buf)
  local blame = server.request(client, 'backstitch/blame', { uri = comparison.uri_of(review.buf) })
  local by
  for _, run in ipairs(blame.runs) do
    if hunk.new[2] > 0 and run.start <= first and first < run.start + run.count and words.given(run.turn) then
      by = ('%s “%s”'):format(run.turn, words.line(words.given(run.prompt) or '', 50))
    end
  end
  require('backstitch.float').open({
    title = by or ('since ' .. review.rev),
    lines = lines,
    keys = {},
    filetype = 'diff',
    footer = 'q close',
  })
end

return M
