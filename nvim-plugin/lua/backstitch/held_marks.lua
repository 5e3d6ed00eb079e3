--- Marks of held calls in the files that they would write: a sign and words at the line that changes first.
local server = require('backstitch.server')
local words = require('backstitch.words')

local M = {}

local namespace = vim.api.nvim_create_namespace('backstitch.held_marks')
--- Above the signs of breakpoints, diagnostics and changes: the agent waits.
local PRIORITY = 31

---@class backstitch.HeldMark
---@field line integer
---@field text string

--- Marks by client and path.
---@type table<integer, table<string, backstitch.HeldMark[]>>
local marks = {}

---@param client vim.lsp.Client
local function draw(client)
  for buf in pairs(client.attached_buffers) do
    if vim.api.nvim_buf_is_loaded(buf) then
      vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
      local path = vim.uv.fs_realpath(vim.api.nvim_buf_get_name(buf)) or vim.api.nvim_buf_get_name(buf)
      for _, mark in ipairs((marks[client.id] or {})[path] or {}) do
        local last = vim.api.nvim_buf_line_count(buf) - 1
        vim.api.nvim_buf_set_extmark(buf, namespace, math.min(mark.line, last), 0, {
          sign_text = '⏸',
          sign_hl_group = 'BackstitchWarning',
          priority = PRIORITY,
          virt_text = { { '  ' .. mark.text, 'BackstitchWarning' } },
          hl_mode = 'combine',
        })
      end
    end
  end
end

--- Marks the lines of these held calls, and removes all other marks.
---@async
---@param client vim.lsp.Client
---@param pauses backstitch.Pause[]
function M.show(client, pauses)
  local found = {} ---@type table<string, backstitch.HeldMark[]>
  for _, pause in ipairs(pauses) do
    if pause.state == 'held' and #pause.files > 0 then
      local root = words.shown(pause.root)
      local arguments = { pause = pause.id, workspace = root }
      local ok, details = pcall(server.request, client, 'backstitch/pause', arguments)
      -- one that is decided by now has no mark
      for _, file in ipairs(ok and details.predicted or {}) do
        local path = vim.fs.joinpath(root, words.shown(file.path))
        local text = ('⏸ %s is held: %s (:Backstitch pauses)'):format(
          words.line(pause.agent),
          words.line(pause.summary, 50)
        )
        found[path] = found[path] or {}
        table.insert(found[path], { line = words.given(file.line) or 0, text = text })
      end
    end
  end
  marks[client.id] = found
  draw(client)
end

--- Forgets the marks of a server that is gone.
---@param client vim.lsp.Client
function M.forget(client)
  marks[client.id] = nil
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) then
      vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
    end
  end
end

return M
