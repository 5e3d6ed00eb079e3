--- Reads buffers anew whose file an agent or a rewind has written, where they have nothing unsaved. Nothing asks, and
--- undo goes back beyond it. Buffers with unsaved text are the server's: it merges into them.
local config = require('backstitch.config')
local server = require('backstitch.server')

local M = {}

--- Milliseconds to wait for more of the same.
local PAUSE = 30

---@param root string
---@param buf integer
local function is_below(root, buf)
  local name = vim.api.nvim_buf_get_name(buf)
  if vim.bo[buf].buftype ~= '' or name == '' then
    return false
  end
  return vim.startswith(name, root .. '/') or vim.startswith(vim.uv.fs_realpath(name) or name, root .. '/')
end

---@param buf integer
local function check(buf)
  local id = vim.api.nvim_create_autocmd('FileChangedShell', {
    buffer = buf,
    callback = function()
      -- a file that is gone leaves its text, and one that was typed into meanwhile its own
      local reason = vim.v.fcs_reason
      vim.v.fcs_choice = (reason == 'changed' or reason == 'time' or reason == 'mode') and 'reload' or ''
    end,
  })
  -- that many lines are kept for undo; beyond them a reload would lose it
  local lines = vim.o.undoreload
  vim.o.undoreload = -1
  local ok, err = pcall(vim.cmd.checktime, buf)
  vim.o.undoreload = lines
  vim.api.nvim_del_autocmd(id)
  if not ok then
    vim.notify('backstitch: ' .. tostring(err), vim.log.levels.WARN)
  end
end

---@param root string
function M.below(root)
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) and not vim.bo[buf].modified and is_below(root, buf) then
      check(buf)
    end
  end
end

function M.enable()
  ---@type table<string, uv.uv_timer_t>
  local soon = {}
  local function changed(params)
    if not config.get().reload then
      return
    end
    local root = require('backstitch.words').shown(params.workspace)
    soon[root] = soon[root] or assert(vim.uv.new_timer())
    soon[root]:start(
      PAUSE,
      0,
      vim.schedule_wrap(function()
        M.below(root)
      end)
    )
  end
  for _, method in ipairs({ 'didCheckpoint', 'didRewind', 'timelineChanged' }) do
    server.on('backstitch/' .. method, changed)
  end
end

return M
