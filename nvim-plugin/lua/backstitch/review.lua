--- Inline diff of a buffer against a checkpoint: added lines are marked, removed lines are virtual lines. The user undoes
--- or keeps each change.
local config = require('backstitch.config')
local outside = require('backstitch.outside')
local server = require('backstitch.server')
local task = require('backstitch.task')
local words = require('backstitch.words')

local M = {}

local namespace = vim.api.nvim_create_namespace('backstitch.review')

--- Delay from a key until the next comparison, in milliseconds.
local DELAY = 80
--- The same for signs that are always shown, where nobody waits for them.
local SIGNS_DELAY = 250
--- Priority of added lines: above the highlights of syntax and servers.
local PRIORITY = 1000

---@alias backstitch.Style 'inline'|'signs'|'hidden' Marks everything, signs alone, or nothing.

---@class backstitch.Review
---@field buf integer
---@field rev string Name for people.
---@field root string
---@field id string The checkpoint.
---@field hunks backstitch.Hunk[] Marked changes.
---@field hidden integer Number of kept changes, which are not marked.
---@field is_binary boolean True if the file has changed, and its lines cannot be compared.
---@field shown? string The server's name for the recorded state of the file at the comparison.
---@field tick? integer The buffer's changedtick at the comparison.
---@field style backstitch.Style
---@field debounce uv.uv_timer_t
---@field tops table<integer, string> By window: the lines above the first one that were scrolled into view.

--- Keyed by buffer.
---@type table<integer, backstitch.Review>
local reviews = {}

--- Returns the comparison of a buffer, drawn or not.
---@param buf? integer
---@return backstitch.Review?
function M.of(buf)
  return reviews[buf or vim.api.nvim_get_current_buf()]
end

--- Returns the URI of a buffer's file.
---@param buf integer
---@return string
local function uri_of(buf)
  if vim.bo[buf].buftype ~= '' or vim.api.nvim_buf_get_name(buf) == '' then
    task.fail({ message = 'This buffer is not a file' })
  end
  return vim.uri_from_bufnr(buf)
end

--- The state before the newest turn whose edits are in force.
M.LAST_TURN = '@turn'

--- Returns the checkpoint before the newest turn whose edits are in force, or the newest where there is no turn.
---@async
---@param client vim.lsp.Client
---@param where { uri?: string, workspace?: string }
---@return backstitch.Checkpoint
function M.before_last_turn(client, where)
  local asked = vim.tbl_extend('force', { rev = M.LAST_TURN }, where)
  local is_known, found = pcall(server.request, client, 'backstitch/checkpoint', asked)
  if is_known then
    return found
  end
  local page = server.request(client, 'backstitch/timeline', vim.tbl_extend('force', { limit = 1 }, where))
  local params = { workspace = words.shown(page.workspace), kind = 'turn', limit = 20 }
  local turns = server.request(client, 'backstitch/timeline', params).checkpoints
  for _, turn in ipairs(turns) do
    if not turn.taken_out then
      return turn
    end
  end
  return server.request(client, 'backstitch/checkpoint', { rev = '@', workspace = params.workspace })
end

--- Resolves the checkpoint that a buffer is compared with.
---@async
---@param buf integer
---@param rev string
---@return vim.lsp.Client client, backstitch.Checkpoint checkpoint, string root
local function resolve(buf, rev)
  local uri = uri_of(buf)
  local client = server.client(buf)
  local checkpoint = rev == M.LAST_TURN and M.before_last_turn(client, { uri = uri })
    or server.request(client, 'backstitch/checkpoint', { rev = rev, uri = uri })
  local page = server.request(client, 'backstitch/timeline', { uri = uri, limit = 1 })
  if not vim.api.nvim_buf_is_loaded(buf) then
    error(task.CALLED_OFF, 0)
  end
  local root = words.shown(page.workspace)
  server.serves(root, client)
  return client, checkpoint, root
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

--- Returns the line range of a change in the buffer, from 0, end-exclusive.
---@param hunk backstitch.Hunk
---@return integer first, integer behind
local function range(hunk)
  return hunk.new[1] - 1, hunk.new[1] - 1 + hunk.new[2]
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
  local first, behind = range(hunk)
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

---@param review backstitch.Review
local function draw(review)
  vim.api.nvim_buf_clear_namespace(review.buf, namespace, 0, -1)
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

vim.api.nvim_set_decoration_provider(namespace, {
  on_win = function(_, window, buf, top)
    local review = reviews[buf]
    if review and top == 0 then
      show_top(review, window)
    end
  end,
})

--- Compares again.
---@async
---@param review backstitch.Review
local function compare(review)
  local client = server.client(review.buf)
  local tick
  local diff
  repeat
    tick = vim.api.nvim_buf_get_changedtick(review.buf)
    diff = server.request(client, 'backstitch/diff', {
      from = review.id,
      to = 'buffer',
      uri = uri_of(review.buf),
    })
    if not vim.api.nvim_buf_is_valid(review.buf) or reviews[review.buf] ~= review then
      error(task.CALLED_OFF, 0)
    end
  -- repeat if the user typed meanwhile
  until vim.api.nvim_buf_get_changedtick(review.buf) == tick
  local file = diff.files[1]
  local all = file and file.hunks or {}
  local hunks = vim.tbl_filter(function(hunk)
    return not hunk.kept
  end, all)
  review.hidden = #all - #hunks
  review.is_binary = file ~= nil and file.binary
  review.shown = file and file.shown
  -- after a change of the timeline alone the same marks stay
  local is_drawn = review.tick == tick and vim.deep_equal(review.hunks, hunks)
  review.hunks, review.tick = hunks, tick
  if not is_drawn then
    draw(review)
  end
end

---@param review backstitch.Review
local function debounced_compare(review)
  review.debounce:start(
    review.style == 'signs' and SIGNS_DELAY or DELAY,
    0,
    vim.schedule_wrap(function()
      if reviews[review.buf] == review then
        task.run(function()
          compare(review)
        end, function() end) -- commands report failures
      end
    end)
  )
end

--- Ends a comparison.
---@param buf? integer
function M.stop(buf)
  buf = buf or vim.api.nvim_get_current_buf()
  local review = reviews[buf]
  if not review then
    return
  end
  reviews[buf] = nil
  review.debounce:close()
  if vim.api.nvim_buf_is_valid(buf) then
    vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  end
end

--- Ends the marks of a buffer; signs that are always shown stay.
---@async
---@param buf? integer
function M.finish(buf)
  buf = buf or vim.api.nvim_get_current_buf()
  M.stop(buf)
  require('backstitch.signs').show(buf)
end

---@param review backstitch.Review
local function report(review)
  if review.is_binary then
    local name = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(review.buf), ':~:.')
    local text = 'backstitch: %s has changed since %s. It is binary or too large, so no lines are marked'
    return require('backstitch.notice').say(text:format(name, review.rev))
  end
  local hidden = review.hidden > 0 and (', %d more kept'):format(review.hidden) or ''
  local count = #review.hunks == 0 and 'No differences' or words.count(#review.hunks, 'change')
  require('backstitch.notice').say(('backstitch: %s since %s%s'):format(count, review.rev, hidden))
end

---@param review backstitch.Review
local function follow(review)
  local buf = review.buf
  vim.api.nvim_buf_attach(buf, false, {
    on_lines = function()
      if reviews[buf] ~= review then
        return true
      end
      debounced_compare(review)
    end,
    on_reload = function()
      if reviews[buf] == review then
        debounced_compare(review)
      end
    end,
    on_detach = function()
      vim.schedule(function()
        if reviews[buf] ~= review then
          return
        elseif not vim.api.nvim_buf_is_loaded(buf) then
          return M.stop(buf)
        end
        -- `:edit!` has read the file again
        review.tick = nil
        follow(review)
        debounced_compare(review)
      end)
    end,
  })
end

--- Marks the differences from a checkpoint until `stop`.
---@async
---@param buf integer
---@param rev string
---@param style? backstitch.Style
---@param is_quiet? boolean Reports no number of changes.
function M.start(buf, rev, style, is_quiet)
  local _, checkpoint, root = resolve(buf, rev)
  M.stop(buf)
  ---@type backstitch.Review
  local review = {
    buf = buf,
    rev = (rev == '@' or rev == M.LAST_TURN) and words.rev(checkpoint) or rev,
    root = root,
    id = checkpoint.id,
    hunks = {},
    hidden = 0,
    is_binary = false,
    style = style or 'inline',
    debounce = assert(vim.uv.new_timer()),
    tops = {},
  }
  reviews[buf] = review
  follow(review)
  local ok, failed = pcall(compare, review)
  if not ok then
    if reviews[buf] == review then
      M.stop(buf)
    end
    error(failed, 0)
  end
  if not is_quiet then
    report(review)
  end
end

--- Draws the marks of a buffer in another style.
---@param buf integer
---@param style backstitch.Style
function M.restyle(buf, style)
  local review = reviews[buf]
  if review and review.style ~= style then
    review.style = style
    draw(review)
  end
end

-- the width of a window decides where deleted lines break
vim.api.nvim_create_autocmd({ 'WinResized', 'OptionSet' }, {
  group = vim.api.nvim_create_augroup('backstitch.review', {}),
  callback = function(event)
    if event.event == 'OptionSet' and not vim.list_contains({ 'wrap', 'tabstop', 'number' }, event.match) then
      return
    end
    for _, review in pairs(reviews) do
      if review.style == 'inline' and vim.api.nvim_buf_is_loaded(review.buf) then
        draw(review)
      end
    end
  end,
})

-- another editor, or the command line, may keep changes
server.on('backstitch/timelineChanged', function(params)
  for _, review in pairs(reviews) do
    if review.root == words.shown(params.workspace) then
      debounced_compare(review)
    end
  end
end)

local anchors = vim.api.nvim_create_namespace('backstitch.review.held')

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
  local marks = vim.tbl_map(function(line)
    local row = math.min(line, vim.api.nvim_buf_line_count(buf)) - 1
    return vim.api.nvim_buf_set_extmark(buf, anchors, math.max(row, 0), 0, { invalidate = true })
  end, { first or 1, last or 1 })
  local ok, failed = pcall(compare, review)
  local lines = {}
  for i, mark in ipairs(marks) do
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
    local from, behind = range(some[i])
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
    return compare(review)
  end
  require('backstitch.restore').run(server.client(review.buf), 'rewind', {
    workspace = review.root,
    rev = review.id,
    paths = { uri_of(review.buf) },
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
  params.uri, params.since = uri_of(review.buf), review.id
  return server.request(server.client(review.buf), 'backstitch/review', params)
end

--- Keeps the changes at these lines: they are not marked until they change again.
---@async
---@param first integer
---@param last integer
function M.keep(first, last)
  local review, from, to = current(first, last)
  local some = hunks_at(review, from, to)
  local start = range(some[1])
  local _, behind = range(some[#some])
  local kept = decide(review, { action = 'keep', lines = { start, behind }, shown = review.shown })
  if #kept.files == 0 then
    task.fail({ message = 'This change is not recorded yet', hint = 'Save the buffer, then keep it' })
  end
  compare(review)
end

--- Marks all kept changes of this file again.
---@async
function M.forget()
  local review = current()
  decide(review, { action = 'unkeep' })
  compare(review)
  report(review)
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
  end
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
    return panel.is_open() and panel.cross(forward) or report(review)
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
  local first = range(hunk)
  local client = server.client(review.buf)
  local blame = server.request(client, 'backstitch/blame', { uri = uri_of(review.buf) })
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

--- Opens the file at a checkpoint beside the buffer, both with 'diff'.
---@async
---@param buf integer
---@param rev string
---@return integer window The older file's.
function M.split(buf, rev)
  local window = vim.api.nvim_get_current_win()
  local client, checkpoint, root = resolve(buf, rev)
  local diff = server.request(client, 'backstitch/diff', { from = checkpoint.id, to = 'buffer', uri = uri_of(buf) })
  local file = diff.files[1]
  local real = vim.uv.fs_realpath(vim.api.nvim_buf_get_name(buf)) or vim.api.nvim_buf_get_name(buf)
  local path = file and words.shown(file.from or file.path) or vim.fs.relpath(root, real) or real
  if file and file.kind == 'create' then
    task.fail({ message = ('%s did not exist at %s'):format(path, rev), hint = ':Backstitch diff marks its lines' })
  end
  local name = require('backstitch.documents').fetch(client, root, checkpoint.id, path)
  -- open it beside the requested window, even if the cursor moved
  if not vim.api.nvim_win_is_valid(window) or vim.api.nvim_win_get_buf(window) ~= buf then
    error(task.CALLED_OFF, 0)
  end
  vim.api.nvim_set_current_win(window)
  -- virtual lines would shift the two sides
  M.restyle(buf, 'hidden')
  outside.diffsplit(name)
  local older = vim.api.nvim_get_current_buf()
  vim.bo[older].bufhidden = 'wipe'
  vim.api.nvim_create_autocmd('BufWipeout', {
    buffer = older,
    once = true,
    callback = function()
      for _, each in ipairs(vim.fn.win_findbuf(buf)) do
        vim.api.nvim_win_call(each, vim.cmd.diffoff)
      end
      if not require('backstitch.panel').is_open() and M.of(buf) then
        M.finish(buf)
      end
    end,
  })
  return vim.fn.bufwinid(older)
end

return M
