--- Marks of an inline diff: added lines and words, removed lines as virtual lines, and signs.
local config = require('backstitch.config')
local words = require('backstitch.words')

local M = {}

local namespace = vim.api.nvim_create_namespace('backstitch.review')

--- Priority of added lines: above the highlights of syntax and servers.
local PRIORITY = 1000

--- Returns the line range of a change in the buffer, from 0, end-exclusive.
---@param hunk backstitch.Hunk
---@return integer first, integer behind
function M.range(hunk)
  return hunk.new[1] - 1, hunk.new[1] - 1 + hunk.new[2]
end

--- Returns a removed line as chunks, its tabs as wide as in the buffer. `spans` are the words that differ, in bytes.
---@param text string
---@param spans [integer, integer][]
---@param tabstop integer
---@param columns integer The highlight goes at least to this column.
---@return backstitch.Chunk[]
function M.virtual_line(text, spans, tabstop, columns)
  local chunks, column, at = {}, 0, 0
  local function add(behind, group)
    if behind <= at then
      return
    end
    local part = text:sub(at + 1, behind)
    local out = {}
    for piece, tab in part:gmatch('([^\t]*)(\t?)') do
      column = column + vim.fn.strdisplaywidth(piece, column)
      table.insert(out, piece)
      if tab ~= '' then
        local wide = tabstop - column % tabstop
        column = column + wide
        table.insert(out, (' '):rep(wide))
      end
    end
    table.insert(chunks, { table.concat(out), group })
    at = behind
  end
  for _, span in ipairs(spans) do
    add(span[1], 'BackstitchRemoved')
    add(span[2], 'BackstitchRemovedWord')
  end
  add(#text, 'BackstitchRemoved')
  -- up to the right edge of the window
  table.insert(chunks, { (' '):rep(math.max(1, columns - column)), 'BackstitchRemoved' })
  return chunks
end

--- Breaks a line of chunks where it would leave the window, as 'wrap' does.
---@param chunks backstitch.Chunk[]
---@param columns integer
---@return backstitch.Chunk[][]
function M.wrapped(chunks, columns)
  local lines, line, used = {}, {}, 0
  for _, chunk in ipairs(chunks) do
    local rest, group = chunk[1], chunk[2]
    while vim.fn.strdisplaywidth(rest) > columns - used do
      local fits = 0
      local part = ''
      for _, letter in ipairs(vim.fn.split(rest, '\\zs')) do
        local wide = vim.fn.strdisplaywidth(letter)
        if used + fits + wide > columns and (used > 0 or fits > 0) then
          break
        end
        part, fits = part .. letter, fits + wide
      end
      table.insert(line, { part, group })
      table.insert(lines, line)
      rest, line, used = rest:sub(#part + 1), {}, 0
    end
    table.insert(line, { rest, group })
    used = used + vim.fn.strdisplaywidth(rest)
  end
  -- the padding alone needs no line
  local is_blank = #lines > 0 and vim.iter(line):all(function(chunk)
    return chunk[1]:match('^ *$') ~= nil
  end)
  if not is_blank then
    table.insert(lines, line)
  end
  return lines
end

--- Returns the width of the text in the window that shows a buffer, and if it wraps lines.
---@param buf integer
---@return integer columns, boolean wraps
local function text_area(buf)
  local window = vim.fn.win_findbuf(buf)[1]
  if not window then
    return vim.o.columns, false
  end
  local info = assert(vim.fn.getwininfo(window)[1])
  return math.max(1, info.width - info.textoff), vim.wo[window].wrap
end

---@param review backstitch.Review
---@param hunk backstitch.Hunk
local function draw_hunk(review, hunk)
  if review.style == 'hidden' then
    return
  end
  local buf, own = review.buf, config.get().diff
  local is_inline = review.style == 'inline'
  local count = vim.api.nvim_buf_line_count(buf)
  local first, behind = M.range(hunk)
  behind = math.min(behind, count)
  local spans = { removed = {}, added = {} }
  if is_inline and own.words and hunk.words then
    for side, all in pairs({ removed = hunk.words.removed, added = hunk.words.added }) do
      for _, span in ipairs(all) do
        spans[side][span[1]] = spans[side][span[1]] or {}
        table.insert(spans[side][span[1]], { span[2], span[3] })
      end
    end
  end
  if is_inline and #hunk.removed > 0 then
    local columns, wraps = text_area(buf)
    local lines = {}
    for i, line in ipairs(hunk.removed) do
      local text = words.shown(line):gsub('[\r\n]+$', '')
      local chunks = M.virtual_line(text, spans.removed[i - 1] or {}, vim.bo[buf].tabstop, columns)
      vim.list_extend(lines, wraps and M.wrapped(chunks, columns) or { chunks })
    end
    local is_behind_all = first >= count
    local row = math.min(first, count - 1)
    -- at the end of the line: below the lens, which is at its start
    vim.api.nvim_buf_set_extmark(buf, namespace, row, #vim.fn.getbufoneline(buf, row + 1), {
      virt_lines = lines,
      virt_lines_above = not is_behind_all,
      virt_lines_overflow = wraps and 'trunc' or 'scroll',
      right_gravity = false,
    })
  end
  if is_inline and behind > first then
    -- a line highlight would hide that of the words
    vim.api.nvim_buf_set_extmark(buf, namespace, first, 0, {
      end_row = behind,
      hl_group = 'BackstitchAdded',
      hl_eol = true,
      strict = false,
      priority = PRIORITY,
    })
  end
  for line, all in pairs(#hunk.removed > 0 and spans.added or {}) do
    line = line + first
    local length = #(vim.api.nvim_buf_get_lines(buf, line, line + 1, false)[1] or '')
    for _, span in ipairs(all) do
      local from, to = math.min(span[1], length), math.min(span[2], length)
      vim.api.nvim_buf_set_extmark(buf, namespace, line, from, {
        end_col = to,
        hl_group = 'BackstitchAddedWord',
        priority = PRIORITY + 1,
      })
    end
  end
  if own.signs or review.style == 'signs' then
    local sign, group = '┃', 'BackstitchSignAdded'
    if #hunk.removed > 0 then
      group = behind > first and 'BackstitchSignChanged' or 'BackstitchSignRemoved'
      sign = behind > first and '┃' or '▔'
    end
    local line = math.min(first, count - 1)
    vim.api.nvim_buf_set_extmark(buf, namespace, line, 0, {
      end_row = math.max(behind - 1, line),
      sign_text = sign,
      sign_hl_group = group,
    })
  end
end

--- Removes the marks of a buffer.
---@param buf integer
function M.clear(buf)
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
end

--- Draws the marks of a comparison anew.
---@param review backstitch.Review
function M.draw(review)
  M.clear(review.buf)
  review.columns = text_area(review.buf)
  for _, hunk in ipairs(review.hunks) do
    draw_hunk(review, hunk)
  end
end

--- Scrolls virtual lines above the first line into view. Neovim hides them by default, and other plugins that draw lenses
--- there show only their own.
---@param review backstitch.Review
---@param window integer
local function show_top(review, window)
  local first = review.hunks[1]
  if review.style ~= 'inline' or not first or first.new[1] > 1 or #first.removed == 0 then
    return
  end
  local marks = vim.api.nvim_buf_get_extmarks(review.buf, -1, { 0, 0 }, { 0, -1 }, { details = true })
  local above, drawn = 0, {}
  for _, mark in ipairs(marks) do
    local details = mark[4] or {}
    if details.virt_lines and details.virt_lines_above then
      above = above + #details.virt_lines
      -- a mark that is drawn again may have another id
      table.insert(drawn, ('%d:%d'):format(mark[1], #details.virt_lines))
    end
  end
  -- the user may scroll them away until they change
  local key = table.concat(drawn, ' ')
  if review.tops[window] == key then
    return
  end
  review.tops[window] = key
  vim.schedule(function()
    if not vim.api.nvim_win_is_valid(window) or vim.api.nvim_win_get_buf(window) ~= review.buf then
      return
    end
    vim.api.nvim_win_call(window, function()
      if vim.fn.line('w0') == 1 then
        -- Neovim takes a value above the number of lines, or of rows, for zero
        vim.fn.winrestview({ topfill = math.min(above, vim.api.nvim_win_get_height(window) - 1) })
      end
    end)
  end)
end

--- Draws the marks again if signs or line numbers have changed the width of the text: removed lines break at it. Neovim knows
--- the width after it has drawn.
---@param review backstitch.Review
---@param of fun(buf: integer): backstitch.Review?
local function fit(review, of)
  if review.style ~= 'inline' or review.is_fitting then
    return
  end
  review.is_fitting = true
  vim.schedule(function()
    review.is_fitting = false
    local is_there = of(review.buf) == review and vim.api.nvim_buf_is_loaded(review.buf)
    if is_there and review.columns and review.columns ~= text_area(review.buf) then
      M.draw(review)
    end
  end)
end

--- Shows the top of each window with a comparison, and fits its marks into the window, once it is drawn.
---@param of fun(buf: integer): backstitch.Review?
function M.watch_windows(of)
  vim.api.nvim_set_decoration_provider(namespace, {
    on_win = function(_, window, buf, top)
      local review = of(buf)
      if review then
        fit(review, of)
      end
      if review and top == 0 then
        show_top(review, window)
      end
    end,
  })
end

return M
