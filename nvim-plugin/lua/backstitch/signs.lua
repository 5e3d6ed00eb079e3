--- Signs for what changed since the last turn, in every file as it opens (the option `signs`).
local config = require('backstitch.config')
local review = require('backstitch.review')
local server = require('backstitch.server')
local task = require('backstitch.task')
local words = require('backstitch.words')

local M = {}

--- Debounce delay in milliseconds.
local DELAY = 250

--- Shows the signs of a buffer, unless the user compares it with another state.
---@param buf integer
function M.show(buf)
  local known = review.of(buf)
  local is_file = vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == '' and vim.api.nvim_buf_get_name(buf) ~= ''
  if config.get().signs ~= 'turn' or not is_file or (known and known.style ~= 'signs') then
    return
  end
  task.run(function()
    local client = server.client(buf)
    local checkpoint = review.before_last_turn(client, { uri = vim.uri_from_bufnr(buf) })
    local now = review.of(buf)
    if now and (now.style ~= 'signs' or now.id == checkpoint.id) then
      return
    end
    review.start(buf, words.rev(checkpoint), 'signs', true)
  end, function() end) -- a file outside of a workspace has no signs
end

--- Shows or removes the signs of all buffers, by the options.
function M.apply()
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local known = review.of(buf)
    if config.get().signs ~= 'turn' and known and known.style == 'signs' then
      review.stop(buf)
    elseif next(vim.lsp.get_clients({ name = 'backstitch', bufnr = buf })) then
      M.show(buf)
    end
  end
end

function M.enable()
  vim.api.nvim_create_autocmd('LspAttach', {
    group = vim.api.nvim_create_augroup('backstitch.signs', {}),
    callback = function(event)
      local client = vim.lsp.get_client_by_id(event.data.client_id)
      if client and client.name == 'backstitch' then
        M.show(event.buf)
      end
    end,
  })
  -- a new turn, or a rewind, moves the state that files are compared with
  local debounce = assert(vim.uv.new_timer())
  for _, method in ipairs({ 'backstitch/didCheckpoint', 'backstitch/didRewind', 'backstitch/timelineChanged' }) do
    server.on(method, function()
      if config.get().signs == 'turn' then
        debounce:start(DELAY, 0, vim.schedule_wrap(M.apply))
      end
    end)
  end
end

return M
