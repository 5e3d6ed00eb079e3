--- Comparison of a buffer with a checkpoint: its state, its start and its end. It is made anew after each change.
local marks = require('backstitch.review.marks')
local server = require('backstitch.server')
local task = require('backstitch.task')
local words = require('backstitch.words')

local M = {}

--- Delay from a key until the next comparison, in milliseconds.
local DELAY = 80
--- The same for signs that are always shown, where nobody waits for them.
local SIGNS_DELAY = 250
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
---@field columns? integer Width of the text at which the marks were drawn.
---@field is_fitting? boolean True until that width is compared with the one of now.
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
function M.uri_of(buf)
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
function M.resolve(buf, rev)
  local uri = M.uri_of(buf)
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

--- Compares again.
---@async
---@param review backstitch.Review
function M.compare(review)
  local client = server.client(review.buf)
  local tick
  local diff
  repeat
    tick = vim.api.nvim_buf_get_changedtick(review.buf)
    diff = server.request(client, 'backstitch/diff', {
      from = review.id,
      to = 'buffer',
      uri = M.uri_of(review.buf),
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
    marks.draw(review)
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
          M.compare(review)
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
    marks.clear(buf)
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

--- Reports the number of changes.
---@param review backstitch.Review
function M.report(review)
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
  local _, checkpoint, root = M.resolve(buf, rev)
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
  local ok, failed = pcall(M.compare, review)
  if not ok then
    if reviews[buf] == review then
      M.stop(buf)
    end
    error(failed, 0)
  end
  if not is_quiet then
    M.report(review)
  end
end

--- Draws the marks of a buffer in another style.
---@param buf integer
---@param style backstitch.Style
function M.restyle(buf, style)
  local review = reviews[buf]
  if review and review.style ~= style then
    review.style = style
    marks.draw(review)
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
        marks.draw(review)
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

marks.watch_windows(M.of)

return M
