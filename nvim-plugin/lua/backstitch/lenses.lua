--- Lenses: asks the server for them, and draws each group as a virtual line above its text. They move with the text, and are
--- requested again at once after a reload, an edit of the server, or a change of the history. They are hidden where 'diff' is
--- on. Needs Neovim 0.12.
local config = require('backstitch.config')
local words = require('backstitch.words')

local M = {}

local namespace = vim.api.nvim_create_namespace('backstitch.lenses')

--- Delay from a key until the next request, in milliseconds.
local DELAY = 100
--- Interval in which ages are renewed, in milliseconds.
local AGE_INTERVAL = 60 * 1000

---@class backstitch.Lenses
---@field rows table<integer, string[]> Titles by line, from 0.
---@field is_asking boolean True until the answer of a request.
---@field is_stale boolean True if something changed since the request.
---@field debounce uv.uv_timer_t
---@field has_top boolean True if the first line has a lens.

--- Keyed by buffer.
---@type table<integer, backstitch.Lenses>
local states = {}

---@param buf integer
---@return vim.lsp.Client?
local function client_of(buf)
  local client = vim.lsp.get_clients({ name = 'backstitch', bufnr = buf })[1]
  return client and client.initialized and not client:is_stopped() and client or nil
end

--- Joins the titles of a line. Those that do not fit are left out, from the last one. Pure.
---@param titles string[]
---@param columns integer
---@return string
function M.joined(titles, columns)
  for count = #titles, 2, -1 do
    local text = table.concat(titles, ' | ', 1, count)
    if vim.fn.strdisplaywidth(text) <= columns then
      return text
    end
  end
  return words.line(titles[1] or '', math.max(1, columns))
end

--- Returns the width of the text in the narrowest window that shows a buffer.
---@param buf integer
---@return integer
local function columns_of(buf)
  local least = vim.o.columns
  for _, window in ipairs(vim.fn.win_findbuf(buf)) do
    local info = assert(vim.fn.getwininfo(window)[1])
    least = math.min(least, info.width - info.textoff)
  end
  return least
end

--- Scrolls a lens above the first line into view, which Neovim hides. The user may scroll it away.
---@param buf integer
local function show_top(buf)
  for _, window in ipairs(vim.fn.win_findbuf(buf)) do
    if vim.fn.line('w0', window) == 1 then
      vim.api.nvim_win_call(window, function()
        if vim.fn.winsaveview().topfill == 0 then
          vim.fn.winrestview({ topfill = 1 })
        end
      end)
    end
  end
end

--- True if a window compares the buffer with another one: lenses would shift one side against the other.
---@param buf integer
---@return boolean
local function is_compared(buf)
  return vim.iter(vim.fn.win_findbuf(buf)):any(function(window)
    return vim.wo[window].diff
  end)
end

---@param buf integer
---@param state backstitch.Lenses
local function draw(buf, state)
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  if is_compared(buf) then
    return
  end
  local columns, count = columns_of(buf), vim.api.nvim_buf_line_count(buf)
  for row, titles in pairs(state.rows) do
    if row < count then
      vim.api.nvim_buf_set_extmark(buf, namespace, row, 0, {
        virt_lines = { { { M.joined(titles, columns), 'LspCodeLens' } } },
        virt_lines_above = true,
        virt_lines_overflow = 'scroll',
        hl_mode = 'combine',
        -- a deleted line takes its lens along
        invalidate = true,
        undo_restore = false,
      })
    end
  end
  local had_top = state.has_top
  state.has_top = state.rows[0] ~= nil
  if state.has_top and not had_top then
    show_top(buf)
  end
end

--- Returns the titles by line, in the order of their characters. Pure.
---@param lenses lsp.CodeLens[]
---@return table<integer, string[]>
function M.rows(lenses)
  local rows = {}
  table.sort(lenses, function(one, other)
    local a, b = one.range.start, other.range.start
    if a.line ~= b.line then
      return a.line < b.line
    end
    return a.character < b.character
  end)
  for _, lens in ipairs(lenses) do
    local line = lens.range.start.line
    rows[line] = rows[line] or {}
    table.insert(rows[line], lens.command and words.line(lens.command.title, 1000))
  end
  return rows
end

--- Requests the lenses of a buffer now. A change before the answer leads to one more request.
---@param buf integer
function M.refresh(buf)
  local state, client = states[buf], client_of(buf)
  if not state or not client then
    return
  end
  if #vim.fn.win_findbuf(buf) == 0 then
    -- BufWinEnter requests them
    state.is_stale = true
    return
  end
  state.debounce:stop()
  if state.is_asking then
    state.is_stale = true
    return
  end
  state.is_asking, state.is_stale = true, false
  local tick = vim.api.nvim_buf_get_changedtick(buf)
  local params = { textDocument = vim.lsp.util.make_text_document_params(buf) }
  local is_sent = client:request('textDocument/codeLens', params, function(failure, lenses)
    if states[buf] ~= state or not vim.api.nvim_buf_is_loaded(buf) then
      return
    end
    state.is_asking = false
    local is_current = vim.api.nvim_buf_get_changedtick(buf) == tick
    if not failure and is_current then
      state.rows = M.rows(lenses or {})
      draw(buf, state)
    end
    if state.is_stale then
      M.refresh(buf)
    end
  end, buf)
  if not is_sent then
    state.is_asking = false
  end
end

--- Requests the lenses of all buffers of a server.
---@param client vim.lsp.Client
function M.refresh_all(client)
  for buf in pairs(states) do
    if client.attached_buffers[buf] then
      M.refresh(buf)
    end
  end
end

---@param buf integer
local function stop(buf)
  local state = states[buf]
  if not state then
    return
  end
  states[buf] = nil
  state.debounce:close()
  if vim.api.nvim_buf_is_valid(buf) then
    vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  end
end

---@param buf integer
---@param state backstitch.Lenses
local function listen(buf, state)
  vim.api.nvim_buf_attach(buf, false, {
    on_lines = function()
      if states[buf] ~= state then
        return true
      end
      state.debounce:start(
        DELAY,
        0,
        vim.schedule_wrap(function()
          if states[buf] == state then
            M.refresh(buf)
          end
        end)
      )
    end,
    on_reload = vim.schedule_wrap(function()
      if states[buf] == state then
        M.refresh(buf)
      end
    end),
    on_detach = function()
      vim.schedule(function()
        if states[buf] == state and vim.api.nvim_buf_is_loaded(buf) then
          -- `:edit` has read the file again
          listen(buf, state)
          M.refresh(buf)
        end
      end)
    end,
  })
end

---@param buf integer
local function follow(buf)
  ---@type backstitch.Lenses
  local state = {
    rows = {},
    is_asking = false,
    is_stale = false,
    debounce = assert(vim.uv.new_timer()),
    has_top = false,
  }
  states[buf] = state
  listen(buf, state)
end

--- Draws the lenses of a buffer, or ends that, by the options.
---@param buf integer
function M.attach(buf)
  local client = client_of(buf)
  if not client or not config.get().codelens then
    return stop(buf)
  end
  -- a server that was started again, or a buffer that was read again, knows nothing of earlier requests
  stop(buf)
  follow(buf)
  M.refresh(buf)
end

function M.enable()
  local group = vim.api.nvim_create_augroup('backstitch.lenses', {})
  vim.api.nvim_create_autocmd('BufWinEnter', {
    group = group,
    callback = function(event)
      local state = states[event.buf]
      if state then
        state.has_top = false
        vim.schedule(function()
          if states[event.buf] == state then
            draw(event.buf, state)
            M.refresh(event.buf)
          end
        end)
      end
    end,
  })
  local function draw_all()
    for buf, state in pairs(states) do
      draw(buf, state)
    end
  end
  vim.api.nvim_create_autocmd('WinResized', { group = group, callback = draw_all })
  vim.api.nvim_create_autocmd('OptionSet', {
    group = group,
    pattern = 'diff',
    callback = vim.schedule_wrap(draw_all),
  })
  vim.api.nvim_create_autocmd('BufUnload', {
    group = group,
    callback = function(event)
      stop(event.buf)
    end,
  })
  local ages = assert(vim.uv.new_timer())
  ages:start(
    AGE_INTERVAL,
    AGE_INTERVAL,
    vim.schedule_wrap(function()
      for buf in pairs(states) do
        M.refresh(buf)
      end
    end)
  )
end

return M
