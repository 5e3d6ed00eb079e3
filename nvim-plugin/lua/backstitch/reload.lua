--- Reloads buffers without unsaved text after an agent or a rewind wrote their file, without a question. Undo reaches the
--- text before the reload. The server merges into buffers with unsaved text.
local config = require('backstitch.config')
local server = require('backstitch.server')

local M = {}

--- Debounce delay in milliseconds.
local DELAY = 30

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
      -- a deleted file keeps its buffer text, and so does a buffer that was edited meanwhile
      local reason = vim.v.fcs_reason
      vim.v.fcs_choice = (reason == 'changed' or reason == 'time' or reason == 'mode') and 'reload' or ''
    end,
  })
  -- a reload of more lines than 'undoreload' would lose the undo history
  local lines = vim.o.undoreload
  vim.o.undoreload = -1
  local ok, err = pcall(vim.cmd.checktime, buf)
  vim.o.undoreload = lines
  vim.api.nvim_del_autocmd(id)
  if not ok then
    require('backstitch.notice').say('backstitch: ' .. tostring(err), vim.log.levels.WARN)
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
  local debounce = {}
  local function changed(params)
    if not config.get().reload then
      return
    end
    local root = require('backstitch.words').shown(params.workspace)
    debounce[root] = debounce[root] or assert(vim.uv.new_timer())
    debounce[root]:start(
      DELAY,
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
