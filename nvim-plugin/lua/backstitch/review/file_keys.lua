--- Keys in the files of a review. They are there while its tab page is the current one: elsewhere a key does what it did before.
local M = {}

---@alias backstitch.FileAction 'next_file'|'previous_file'|'next_change'|'previous_change'|'keep'|'undo'|'keep_file'

---@type { key: string, desc: string, action: backstitch.FileAction }[]
M.KEYS = {
  { key = '<Tab>', desc = 'Open the next file.', action = 'next_file' },
  { key = '<S-Tab>', desc = 'Open the previous file.', action = 'previous_file' },
  { key = ']c', desc = 'Go to the next change, also in the next file.', action = 'next_change' },
  { key = '[c', desc = 'Go to the previous change, also in the file before.', action = 'previous_change' },
  { key = 'K', desc = 'Keep this change, and go to the next.', action = 'keep' },
  { key = 'X', desc = 'Undo this change, and go to the next.', action = 'undo' },
  {
    key = 'gK',
    desc = 'Keep all changes of the file, and go to the next file; or mark them again.',
    action = 'keep_file',
  },
}

--- Mappings of buffers that the keys have replaced, by key.
---@type table<integer, table<string, table<string, any>>>
local replaced = {}

---@param buf integer
---@param act fun(action: backstitch.FileAction)
function M.map(buf, act)
  if replaced[buf] or not vim.api.nvim_buf_is_loaded(buf) then
    return
  end
  replaced[buf] = {}
  for _, each in ipairs(M.KEYS) do
    local before = vim.api.nvim_buf_call(buf, function()
      return vim.fn.maparg(each.key, 'n', false, true)
    end)
    replaced[buf][each.key] = before.buffer == 1 and before or nil
    vim.keymap.set('n', each.key, function()
      act(each.action)
    end, { buffer = buf, nowait = true, desc = 'Backstitch: ' .. each.desc })
  end
end

---@param buffers table<integer, true>
function M.unmap(buffers)
  for buf in pairs(buffers) do
    local before = replaced[buf]
    replaced[buf] = nil
    if before and vim.api.nvim_buf_is_valid(buf) then
      vim.api.nvim_buf_call(buf, function()
        for _, each in ipairs(M.KEYS) do
          pcall(vim.keymap.del, 'n', each.key, { buffer = buf })
          if before[each.key] then
            vim.fn.mapset('n', false, before[each.key])
          end
        end
      end)
    end
  end
end

return M
