--- Comparison side by side: the file at a checkpoint beside the buffer, both with 'diff'.
local comparison = require('backstitch.review.comparison')
local outside = require('backstitch.outside')
local server = require('backstitch.server')
local task = require('backstitch.task')
local words = require('backstitch.words')

local M = {}

--- Opens the file at a checkpoint beside the buffer, both with 'diff'.
---@async
---@param buf integer
---@param rev string
---@return integer window The older file's.
function M.open(buf, rev)
  local window = vim.api.nvim_get_current_win()
  local client, checkpoint, root = comparison.resolve(buf, rev)
  local diff =
    server.request(client, 'backstitch/diff', { from = checkpoint.id, to = 'buffer', uri = comparison.uri_of(buf) })
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
  comparison.restyle(buf, 'hidden')
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
      if not require('backstitch.panel').is_open() and comparison.of(buf) then
        comparison.finish(buf)
      end
    end,
  })
  return vim.fn.bufwinid(older)
end

return M
