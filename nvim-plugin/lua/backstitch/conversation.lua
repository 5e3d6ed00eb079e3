--- Conversations of agents that go back: alone, with the files, or with a summary in place of a part.
local server = require('backstitch.server')
local task = require('backstitch.task')
local words = require('backstitch.words')

local M = {}

--- Continues a conversation in a terminal below. The prompt that is not part of the command line is in the register `"`.
---@param made backstitch.ListedConversation|backstitch.PlannedConversation
local function continue(made)
  if not words.given(made.prefilled) and made.prompt ~= '' then
    vim.fn.setreg('"', made.prompt)
  end
  vim.cmd('botright new')
  require('backstitch.outside').terminal(made.argv, words.shown(made.cwd))
  vim.cmd.startinsert()
end

--- Says how a conversation that was made continues.
---@param made? backstitch.PlannedConversation
function M.report(made)
  if words.given(made) and words.given(made.argv) then
    require('backstitch.notice').say('backstitch: the conversation is ready; :Backstitch conversation continues it')
  end
end

--- Continues the newest conversation that was made, or the newest one that ends before a turn.
---@async
---@param client vim.lsp.Client
---@param arguments table workspace or uri; rev
function M.last(client, arguments)
  ---@type backstitch.LastConversation
  local found = server.execute(client, 'backstitch.conversation', arguments)
  local made = words.given(found.conversation)
  if not made then
    require('backstitch.notice').say('backstitch: no conversation was made yet')
    return
  end
  continue(made)
end

--- Makes a conversation that ends before a turn. The files stay as they are.
---@async
---@param client vim.lsp.Client
---@param arguments table workspace or uri; rev
function M.rewind(client, arguments)
  local asked = vim.tbl_extend('force', arguments, { scope = 'conversation', confirm = true })
  M.report(server.execute(client, 'backstitch.rewind', asked).conversation)
end

--- Shows a summary in a buffer. Writing the buffer makes the conversation with it.
---@async
---@param client vim.lsp.Client
---@param arguments table workspace or uri; turn, part
function M.summarize(client, arguments)
  require('backstitch.notice').say('backstitch: the agent summarises')
  ---@type backstitch.SummarizeResult
  local summed = server.execute(client, 'backstitch.summarize', arguments)
  vim.cmd('botright new')
  local buf = vim.api.nvim_get_current_buf()
  vim.bo[buf].buftype, vim.bo[buf].bufhidden, vim.bo[buf].filetype = 'acwrite', 'wipe', 'markdown'
  vim.api.nvim_buf_set_name(buf, ('backstitch://summary/%s/%d'):format(arguments.turn, buf))
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, vim.split(summed.summary, '\n'))
  vim.bo[buf].modified = false
  vim.api.nvim_create_autocmd('BufWriteCmd', {
    buffer = buf,
    callback = function()
      local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\n')
      task.run(function()
        local asked = vim.tbl_extend('force', arguments, { summary = text })
        local made = server.execute(client, 'backstitch.summarize', asked)
        vim.bo[buf].modified = false
        M.report(made.conversation)
      end)
    end,
  })
  require('backstitch.notice').say('backstitch: :write makes the conversation with this summary')
end

return M
